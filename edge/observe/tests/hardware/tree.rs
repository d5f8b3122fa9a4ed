//! Trees of files that look like a node's, from a few lines each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder with the files of a node; it is gone when this is.
pub(crate) struct Tree {
    /// Where it is.
    pub(crate) root: PathBuf,
}

impl Tree {
    /// Grows the tree that the lines describe, in a folder of its own.
    pub(crate) fn grow(described: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hardware-{}-{number}", std::process::id());
        let tree = Self { root: std::env::temp_dir().join(name) };
        for line in described.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (what, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (path, value) = rest.split_once(' ').unwrap_or((rest, ""));
            match what {
                "file" => tree.file(path, value.replace("\\n", "\n").as_bytes()),
                "bytes" => tree.file(path, &bytes(value)),
                "bridge" => tree.bridge(path, value),
                "function" => tree.function(path, value),
                _ => panic!("nobody knows `{what}`"),
            }
        }
        tree
    }

    fn file(&self, path: &str, value: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value).unwrap();
    }

    fn link(&self, path: &str, target: &Path) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// `bridge PATH TYPE [ACS]`: the type of port, and the control bits of ACS if it has it.
    fn bridge(&self, path: &str, value: &str) {
        let mut words = value.split(' ');
        let kind = ["root", "upstream", "downstream", "to-pci"]
            .into_iter()
            .position(|kind| Some(kind) == words.clone().next())
            .map(|kind| kind as u8 + 4);
        let mut config = vec![0; 4096];
        config[0x0e] = 1;
        if let Some(kind) = kind {
            config[0x34] = 0x40;
            config[0x40..0x44].copy_from_slice(&[0x10, 0, kind << 4 | 2, 0]);
        }
        if let Some(control) = words.nth(1) {
            config[0x100..0x104].copy_from_slice(&[0x0d, 0, 0x01, 0]);
            config[0x106] = u8::from_str_radix(control, 16).unwrap();
        }
        let folder = self.device(path, "1af4:0001", "060400");
        self.file(&format!("{folder}/config"), &config);
    }

    /// `function PATH ID CLASS KEY=VALUE…`
    fn function(&self, path: &str, value: &str) {
        let words: Vec<&str> = value.split(' ').collect();
        let folder = self.device(path, words[0], words[1]);
        let up = "../".repeat(folder.split('/').count());
        for word in &words[2..] {
            let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("{word}"));
            let file = |name: &str, value: &str| {
                self.file(&format!("{folder}/{name}"), format!("{value}\n").as_bytes());
            };
            match key {
                "group" => {
                    let group = format!("sys/kernel/iommu_groups/{value}");
                    self.link(&format!("{folder}/iommu_group"), &Path::new(&up).join(group));
                }
                "driver" => {
                    let driver = format!("sys/bus/pci/drivers/{value}");
                    fs::create_dir_all(self.root.join(&driver)).unwrap();
                    self.link(&format!("{folder}/driver"), &Path::new(&up).join(driver));
                }
                "numa" => file("numa_node", value),
                "vfs" => file("sriov_totalvfs", value),
                "rdma" => {
                    file("infiniband/mlx5/ports/1/state", "4: ACTIVE");
                    file("infiniband/mlx5/ports/1/rate", &format!("{value} Gb/sec (4X NDR)"));
                }
                "mac" => file("net/eth/address", value),
                "speed" => file("net/eth/speed", value),
                "partition" => {
                    let (compute, memory) = value.split_once('/').unwrap();
                    file("current_compute_partition", compute);
                    file("current_memory_partition", memory);
                }
                "part-of" => {
                    let (whole, number) = value.split_once('/').unwrap();
                    let own = folder.rsplit('/').next().unwrap();
                    self.link(&format!("{folder}/physfn"), &Path::new("..").join(whole));
                    let all = folder.rsplit_once('/').unwrap().0;
                    let part = Path::new("..").join(own);
                    self.link(&format!("{all}/{whole}/virtfn{number}"), &part);
                }
                _ => panic!("nobody knows `{key}`"),
            }
        }
    }

    /// What all functions and bridges have. Gives their folder.
    fn device(&self, path: &str, id: &str, class: &str) -> String {
        let folder = format!("sys/devices/{path}");
        let (vendor, device) = id.split_once(':').unwrap();
        for (name, value) in [("vendor", vendor), ("device", device), ("class", class)] {
            self.file(&format!("{folder}/{name}"), format!("0x{value}\n").as_bytes());
        }
        let own = path.rsplit('/').next().unwrap();
        let target = Path::new("../../../devices").join(path);
        self.link(&format!("sys/bus/pci/devices/{own}"), &target);
        folder
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // It is in the folder for temporary files, if it stays.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn bytes(value: &str) -> Vec<u8> {
    value.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}
