use std::path::PathBuf;

/// Where the parts of one node are found. The process is inside the node's network and mount
/// namespaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The folder of the routing daemons' sockets.
    pub frr: PathBuf,
    /// The folder of the BPF file system where the packet program is.
    pub filter: PathBuf,
    /// The folder of the VRFs' network namespaces.
    pub vrfs: PathBuf,
    /// The folder where it is written down what was sent.
    pub state: PathBuf,
}
