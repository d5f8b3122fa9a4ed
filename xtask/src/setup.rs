//! What the checks need beyond Rust itself, installed where it is missing.

use crate::{Failure, shell};

/// A thing that must be on the machine.
struct Need {
    what: &'static str,
    why: &'static str,
    /// Succeeds when it is there.
    seen_by: &'static [&'static str],
    /// Install it, in this order.
    install: &'static [&'static [&'static str]],
    /// Whether installing changes the system and not only the user's home.
    as_root: bool,
}

const NEEDS: [Need; 15] = [
    Need {
        what: "rustfmt",
        why: "for the check of the formatting",
        seen_by: &["cargo", "fmt", "--version"],
        install: &[&["rustup", "component", "add", "rustfmt"]],
        as_root: false,
    },
    Need {
        what: "clippy",
        why: "for the lints",
        seen_by: &["cargo", "clippy", "--version"],
        install: &[&["rustup", "component", "add", "clippy"]],
        as_root: false,
    },
    Need {
        what: "nextest",
        why: "for running tests side by side, and their report",
        seen_by: &["cargo", "nextest", "--version"],
        install: &[&["cargo", "install", "--quiet", "--locked", "cargo-nextest@0.9.143"]],
        as_root: false,
    },
    Need {
        what: "a C++ compiler",
        why: "for the fuzzing engine",
        seen_by: &["c++", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "g++"],
        ],
        as_root: true,
    },
    Need {
        what: "clang 14 with the kernel's headers",
        why: "for compiling the packet program",
        seen_by: &["dpkg", "--status", "clang-14", "llvm-14", "libbpf-dev"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &[
                "apt-get",
                "install",
                "--quiet",
                "--yes",
                "--no-install-recommends",
                "clang-14",
                "llvm-14",
                "libbpf-dev",
                "linux-libc-dev",
            ],
        ],
        as_root: true,
    },
    Need {
        what: "iproute2",
        why: "for network namespaces with real traffic",
        seen_by: &["ip", "-Version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "iproute2"],
        ],
        as_root: true,
    },
    Need {
        what: "nftables",
        why: "for measuring beside it",
        seen_by: &["nft", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "nftables"],
        ],
        as_root: true,
    },
    Need {
        what: "FRR",
        why: "for a fabric with real routing",
        seen_by: &["dpkg", "--status", "frr"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "frr"],
        ],
        as_root: true,
    },
    Need {
        what: "systemd",
        why: "for running the agent by its unit",
        seen_by: &["dpkg", "--status", "systemd"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "systemd"],
        ],
        as_root: true,
    },
    Need {
        what: "tcpdump",
        why: "for seeing the tag on the wire with somebody else's eyes",
        seen_by: &["tcpdump", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "tcpdump"],
        ],
        as_root: true,
    },
    Need {
        what: "Slurm",
        why: "for files that a real controller takes",
        seen_by: &["dpkg", "--status", "slurm-wlm", "munge"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &[
                "apt-get",
                "install",
                "--quiet",
                "--yes",
                "--no-install-recommends",
                "slurm-wlm",
                "munge",
            ],
        ],
        as_root: true,
    },
    Need {
        what: "libvirt with its schema",
        why: "for machines that libvirt takes, and what it makes of them",
        seen_by: &[
            "dpkg",
            "--status",
            "libvirt-clients",
            "libvirt-daemon-system",
            "libxml2-utils",
            "qemu-system-x86",
        ],
        install: &[
            &["apt-get", "update", "--quiet"],
            &[
                "apt-get",
                "install",
                "--quiet",
                "--yes",
                "--no-install-recommends",
                "libvirt-clients",
                "libvirt-daemon-system",
                "libxml2-utils",
                "qemu-system-x86",
            ],
        ],
        as_root: true,
    },
    Need {
        what: "a subnet manager with a simulated fabric",
        why: "for partitions that real ports hold",
        seen_by: &["dpkg", "--status", "opensm", "ibsim-utils", "infiniband-diags"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &[
                "apt-get",
                "install",
                "--quiet",
                "--yes",
                "--no-install-recommends",
                "opensm",
                "ibsim-utils",
                "infiniband-diags",
            ],
        ],
        as_root: true,
    },
    Need {
        what: "Python's venv",
        why: "for keeping the checks' Python apart from the system's",
        seen_by: &["python3", "-c", "import ensurepip, venv"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "python3-venv"],
        ],
        as_root: true,
    },
    Need {
        what: "a reader of Kubernetes' schemas",
        why: "for objects that its API would take",
        seen_by: &["target/python/bin/kubernetes-validate", "--version"],
        install: &[
            &["python3", "-m", "venv", "target/python"],
            &["target/python/bin/pip", "install", "--quiet", "kubernetes-validate==1.37.0"],
        ],
        as_root: false,
    },
];

/// Looks for each need and installs what is missing.
pub(crate) fn run() -> Result<(), Failure> {
    for need in &NEEDS {
        if is_there(need) {
            println!("{} is here, {}.", need.what, need.why);
        } else {
            println!("{} is missing, {}; installing it.", need.what, need.why);
            install(need)?;
        }
    }
    Ok(())
}

fn install(need: &Need) -> Result<(), Failure> {
    for line in need.install {
        let mut line = line.to_vec();
        if need.as_root && !is_root() {
            line.insert(0, "sudo");
        }
        println!("  {}", line.join(" "));
        if shell::run(&line).is_err() {
            break;
        }
    }
    if is_there(need) {
        return Ok(());
    }
    Err(Failure::Broken(format!(
        "{} could not be installed; please install it by hand, then run `cargo xtask setup` again",
        need.what
    )))
}

fn is_there(need: &Need) -> bool {
    shell::output(need.seen_by).is_some()
}

fn is_root() -> bool {
    shell::output(&["id", "-u"]).is_some_and(|user| user.trim() == "0")
}
