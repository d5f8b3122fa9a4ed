//! What is asked of the kernel about the queues of an uplink.

use filter::{QUEUES, REST};
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use nix::libc::{EINVAL, ENODEV, ENOENT};
use observe::{
    CLASSES, HTB_CEIL64, HTB_CLASS, HTB_INIT, HTB_RATE64, KernelRequest, LINK_CLASS, WAITING,
    class_words, rest_bps, waiting_bytes,
};

/// What the kernel says of queues that are not there; of an interface that has none, that the
/// request makes no sense.
const GONE: &[i32] = &[ENODEV, ENOENT, EINVAL];
/// The options of a discipline that has only one structure, and no attributes (`TCA_OPTIONS`).
const OPTIONS: u16 = 2;

/// The queues of an uplink without any tenant's, in the place of whatever queue was there.
pub(crate) fn make(port: &str, index: u32, link_bps: u64) -> Vec<KernelRequest> {
    /// The version of the interface, and what a turn is if a class does not say.
    const VERSION: u32 = 3;
    const RATE_TO_QUANTUM: u32 = 10;
    let mut root = about(index, TcHandle::ROOT, TcHandle { major: QUEUES, minor: 0 });
    let init = bytes(&[VERSION, RATE_TO_QUANTUM, REST.into(), 0, 0]);
    root.attributes =
        vec![TcAttribute::Kind(CLASSES.into()), TcAttribute::Options(vec![option(HTB_INIT, init)])];
    let made = KernelRequest {
        what: format!("make the queues of {port}"),
        message: RouteNetlinkMessage::NewQueueDiscipline(root),
        flags: NLM_F_CREATE | NLM_F_EXCL,
        forgives: &[],
    };
    let link = class(port, index, TcHandle::ROOT, LINK_CLASS, link_bps, link_bps);
    let mut requests = vec![remove(port, index), made, link];
    requests.extend(set(port, index, REST, rest_bps(link_bps), link_bps));
    requests
}

/// The queue of a tenant, new or with other rates than before: what waits in it stays.
pub(crate) fn set(port: &str, index: u32, number: u16, rate: u64, ceil: u64) -> [KernelRequest; 2] {
    let link = TcHandle { major: QUEUES, minor: LINK_CLASS };
    let own = TcHandle { major: QUEUES, minor: number };
    let mut waiting = about(index, own, TcHandle::UNSPEC);
    let limit = DefaultNla::new(OPTIONS, bytes(&[waiting_bytes(ceil)]));
    waiting.attributes = vec![TcAttribute::Kind(WAITING.into()), TcAttribute::Other(limit)];
    let waiting = KernelRequest {
        what: format!("let frames wait in class {number} of {port}"),
        message: RouteNetlinkMessage::NewQueueDiscipline(waiting),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
        forgives: &[],
    };
    [class(port, index, link, number, rate, ceil), waiting]
}

/// No queues at all: what waits in them is lost.
pub(crate) fn remove(port: &str, index: u32) -> KernelRequest {
    KernelRequest {
        what: format!("remove the queues of {port}"),
        message: RouteNetlinkMessage::DelQueueDiscipline(about(
            index,
            TcHandle::ROOT,
            TcHandle::UNSPEC,
        )),
        flags: 0,
        forgives: GONE,
    }
}

/// No queue of this tenant: what waits in it is lost.
pub(crate) fn remove_class(port: &str, index: u32, number: u16) -> KernelRequest {
    let own = TcHandle { major: QUEUES, minor: number };
    KernelRequest {
        what: format!("remove class {number} of {port}"),
        message: RouteNetlinkMessage::DelTrafficClass(about(index, TcHandle::UNSPEC, own)),
        flags: 0,
        forgives: GONE,
    }
}

fn class(
    port: &str,
    index: u32,
    parent: TcHandle,
    number: u16,
    rate_bps: u64,
    ceil_bps: u64,
) -> KernelRequest {
    let wide = |bps: u64| (bps / 8).to_ne_bytes().to_vec();
    let mut message = about(index, parent, TcHandle { major: QUEUES, minor: number });
    message.attributes = vec![
        TcAttribute::Kind(CLASSES.into()),
        TcAttribute::Options(vec![
            option(HTB_CLASS, bytes(&class_words(rate_bps, ceil_bps))),
            option(HTB_RATE64, wide(rate_bps)),
            option(HTB_CEIL64, wide(ceil_bps)),
        ]),
    ];
    KernelRequest {
        what: format!("give class {number} of {port} its rates"),
        message: RouteNetlinkMessage::NewTrafficClass(message),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
        forgives: &[],
    }
}

fn about(index: u32, parent: TcHandle, handle: TcHandle) -> TcMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = parent;
    message.header.handle = handle;
    message
}

fn option(which: u16, value: Vec<u8>) -> TcOption {
    TcOption::Other(DefaultNla::new(which, value))
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
