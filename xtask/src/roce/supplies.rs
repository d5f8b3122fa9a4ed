//! What the machines are made of: an emulator, a kernel, and the few files they start with.
//!
//! All of it is Debian's, and none of it is installed: packages are unpacked below the target
//! folder, with everything they need down to the C library, and run from there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::host::must;
use crate::{Failure, shell};

/// The packages, without what they need themselves.
const PACKAGES: [&str; 6] = [
    "busybox-static",
    "ibverbs-providers",
    "ibverbs-utils",
    "iproute2",
    "perftest",
    "qemu-system-x86",
];
/// Names the newest kernel of the distribution.
const KERNEL: &str = "linux-image-amd64";

/// What the machines need of the kernel beside what is built into it.
const MODULES: [&str; 4] = ["virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe"];
/// The programs in the machines, beside those of busybox.
const PROGRAMS: [&str; 3] = ["ib_write_bw", "ibv_rc_pingpong", "rdma"];
/// Where Debian keeps libraries on this architecture.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

const INIT: &str = include_str!("../../../lab/guest/init.sh");
const WISHES: &str = include_str!("../../../lab/guest/wishes.sh");

/// Where everything is.
pub(super) struct Supplies {
    folder: PathBuf,
    /// The version of the kernel, as its modules' folder is called.
    release: String,
}

impl Supplies {
    /// Gets what is missing, and packs the machines' first files anew.
    pub(super) fn gather() -> Result<Self, Failure> {
        let folder = shell::target()?.join("roce");
        if !folder.join("unpacked").exists() {
            println!("Getting an emulator, a kernel and RDMA tools into {}.", folder.display());
            download(&folder)?;
            unpack(&folder)?;
        }
        let release = only_entry(&folder.join("unpacked/usr/lib/modules"))?;
        let supplies = Self { folder, release };
        supplies.pack().map_err(|cause| broken("pack the machines' files", &cause))?;
        Ok(supplies)
    }

    /// Where a run may leave its logs.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn kernel(&self) -> PathBuf {
        self.root().join("boot").join(format!("vmlinuz-{}", self.release))
    }

    pub(super) fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs")
    }

    /// The words that start the emulator with its own libraries, firmware and modules.
    pub(super) fn emulator(&self) -> Vec<String> {
        let root = self.root();
        let path = |part: &str| root.join(part).display().to_string();
        let libraries = path(LIBRARIES);
        vec![
            "env".to_owned(),
            format!("QEMU_MODULE_DIR={libraries}/qemu"),
            format!("{libraries}/{LOADER}"),
            "--library-path".to_owned(),
            libraries,
            path("usr/bin/qemu-system-x86_64"),
            "-L".to_owned(),
            path("usr/share/qemu"),
            "-L".to_owned(),
            path("usr/share/seabios"),
        ]
    }

    /// Package and version of what matters, one a line.
    pub(super) fn versions(&self) -> Vec<String> {
        let matters = ["linux-image", "qemu-system-x86_", "ibverbs-utils", "perftest"];
        let entries = fs::read_dir(self.folder.join("packages")).into_iter().flatten().flatten();
        let mut versions: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| matters.iter().any(|start| name.starts_with(start)))
            .filter_map(|name| {
                let mut parts = name.split('_');
                Some(format!("{} {}", parts.next()?, parts.next()?.replace("%3a", ":")))
            })
            .collect();
        versions.sort();
        versions
    }

    fn root(&self) -> PathBuf {
        self.folder.join("unpacked")
    }

    /// Packs the files that the machines start with, not compressed: unpacking costs an emulated
    /// processor more than reading.
    fn pack(&self) -> std::io::Result<()> {
        let stage = self.folder.join("stage");
        let _ = fs::remove_dir_all(&stage);
        for folder in ["bin", "dev", "etc", "lib64", "modules", "proc", "sys", "tmp", LIBRARIES] {
            fs::create_dir_all(stage.join(folder))?;
        }
        script(&stage.join("init"), INIT)?;
        script(&stage.join("wishes.sh"), WISHES)?;
        for program in PROGRAMS.iter().chain(&["busybox"]) {
            let file = self.root().join("usr/bin").join(program);
            fs::copy(&file, stage.join("bin").join(program))?;
            self.copy_libraries(&file, &stage)?;
        }
        self.copy_verbs(&stage)?;
        self.copy_modules(&stage)?;
        self.archive(&stage)
    }

    /// Copies the libraries of a program; a static one has none.
    fn copy_libraries(&self, program: &Path, stage: &Path) -> std::io::Result<()> {
        let libraries = self.root().join(LIBRARIES);
        let loader = libraries.join(LOADER);
        let words =
            [&loader, Path::new("--library-path"), &libraries, Path::new("--list"), program];
        let words = words.map(|word| word.display().to_string());
        let listed = shell::output(&words.each_ref().map(String::as_str)).unwrap_or_default();
        for file in libraries_in(&listed) {
            fs::copy(libraries.join(file), stage.join(LIBRARIES).join(file))?;
        }
        fs::copy(&loader, stage.join("lib64").join(LOADER)).map(drop)
    }

    /// The library of RDMA finds its drivers by itself, in a folder of theirs.
    fn copy_verbs(&self, stage: &Path) -> std::io::Result<()> {
        let drivers = Path::new(LIBRARIES).join("libibverbs");
        for folder in [&drivers, Path::new("etc/libibverbs.d")] {
            fs::create_dir_all(stage.join(folder))?;
            for entry in fs::read_dir(self.root().join(folder))?.flatten() {
                let name = entry.file_name();
                if name.to_string_lossy().contains("rxe") {
                    fs::copy(entry.path(), stage.join(folder).join(name))?;
                }
            }
        }
        Ok(())
    }

    fn copy_modules(&self, stage: &Path) -> std::io::Result<()> {
        let modules = self.root().join("usr/lib/modules").join(&self.release);
        let needs = fs::read_to_string(modules.join("modules.dep"))?;
        for (place, module) in in_order(&needs, &MODULES).iter().enumerate() {
            let name = module.rsplit('/').next().unwrap_or(module);
            let numbered = format!("{place:02}-{name}");
            fs::copy(modules.join(module), stage.join("modules").join(numbered))?;
        }
        Ok(())
    }

    fn archive(&self, stage: &Path) -> std::io::Result<()> {
        let busybox = stage.join("bin/busybox").display().to_string();
        let to = self.initramfs().display().to_string();
        let stage = stage.display().to_string();
        let script = r#"cd "$1" && find . | "$2" cpio -o -H newc -F "$3" 2> /dev/null"#;
        match must(&["sh", "-c", script, "sh", &stage, &busybox, &to]) {
            Ok(()) => Ok(()),
            Err(_) => Err(std::io::Error::other("cpio failed")),
        }
    }
}

fn script(file: &Path, text: &str) -> std::io::Result<()> {
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// Gets all packages with all they need, as if nothing were installed on this machine.
fn download(folder: &Path) -> Result<(), Failure> {
    let packages = folder.join("packages");
    let _ = fs::remove_dir_all(&packages);
    fs::create_dir_all(packages.join("partial"))
        .map_err(|cause| broken("make a folder", &cause))?;
    let nothing = folder.join("nothing-installed");
    fs::write(&nothing, "").map_err(|cause| broken("write a file", &cause))?;
    must(&["apt-get", "update", "--quiet", "--quiet"])?;
    let status = format!("Dir::State::status={}", nothing.display());
    let archives = format!("Dir::Cache::archives={}", packages.display());
    let mut line = vec!["apt-get", "install", "--download-only", "--quiet", "--quiet", "--yes"];
    line.extend(["--no-install-recommends", "-o", &status, "-o", &archives]);
    // It changes nothing that another run of apt could want to change.
    line.extend(["-o", "Debug::NoLocking=1"]);
    line.extend(PACKAGES);
    must(&line)?;
    let kernel = newest_kernel()?;
    let packages = packages.display().to_string();
    let script = r#"cd "$1" && apt-get download --quiet --quiet -o APT::Sandbox::User=root "$2""#;
    must(&["sh", "-c", script, "sh", &packages, &kernel])
}

/// The package that holds the kernel itself.
fn newest_kernel() -> Result<String, Failure> {
    let said = shell::output(&["apt-cache", "depends", KERNEL]).unwrap_or_default();
    let found = said.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    found.map(str::to_owned).ok_or_else(|| {
        Failure::Broken(format!("`apt-cache depends {KERNEL}` names no kernel: is this Debian?"))
    })
}

/// Unpacks all packages over each other; the folder has its name only when it is complete.
fn unpack(folder: &Path) -> Result<(), Failure> {
    let root = folder.join("unpacking");
    prepare(&root).map_err(|cause| broken("make a folder", &cause))?;
    let packages = folder.join("packages").display().to_string();
    let to = root.display().to_string();
    let script = r#"set -e; for package in "$1"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory "$2"
    done
    "$2/usr/bin/busybox" depmod -b "$2" "$(ls "$2/usr/lib/modules")""#;
    must(&["sh", "-c", script, "sh", &packages, &to])?;
    fs::rename(&root, folder.join("unpacked")).map_err(|cause| broken("name a folder", &cause))
}

/// The packages hold both `/lib` and `/usr/lib`, which are one folder.
fn prepare(root: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(root);
    for part in ["bin", "lib", "lib64", "sbin"] {
        fs::create_dir_all(root.join("usr").join(part))?;
        symlink(format!("usr/{part}"), root.join(part))?;
    }
    Ok(())
}

fn only_entry(folder: &Path) -> Result<String, Failure> {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = entries.next().and_then(|entry| entry.file_name().into_string().ok());
    name.ok_or_else(|| {
        let advice = "remove the folder `roce` of the target folder, then try again";
        Failure::Broken(format!("{} is empty; {advice}", folder.display()))
    })
}

fn broken(doing: &str, cause: &std::io::Error) -> Failure {
    Failure::Broken(format!("cannot {doing}: {cause}"))
}

/// The names of the libraries in the list that the loader prints.
fn libraries_in(listed: &str) -> impl Iterator<Item = &str> {
    listed.lines().filter_map(|line| {
        let (_, path) = line.split_once(" => ")?;
        path.split(" (").next()?.rsplit('/').next()
    })
}

/// The files of modules in an order in which they can be loaded; in `modules.dep`, a module's
/// needs stand behind it, those that others of them need last.
fn in_order<'a>(needs: &'a str, modules: &[&str]) -> Vec<&'a str> {
    let mut order = Vec::new();
    for module in modules {
        let end = format!("/{module}.ko");
        let line = needs.lines().filter_map(|line| line.split_once(':'));
        let Some((file, before)) = line.into_iter().find(|(file, _)| file.ends_with(&end)) else {
            continue;
        };
        for one in before.split_whitespace().rev().chain([file]) {
            if !order.contains(&one) {
                order.push(one);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_stand_behind_all_they_need_and_only_once() {
        let needs = "\
kernel/net/virtio_net.ko: kernel/virtio/virtio_ring.ko kernel/virtio/virtio.ko
kernel/virtio/virtio_ring.ko: kernel/virtio/virtio.ko
kernel/virtio/virtio.ko:
kernel/crypto/crc32_generic.ko:
";
        assert_eq!(
            in_order(needs, &["virtio_ring", "virtio_net", "crc32_generic", "built_in"]),
            [
                "kernel/virtio/virtio.ko",
                "kernel/virtio/virtio_ring.ko",
                "kernel/net/virtio_net.ko",
                "kernel/crypto/crc32_generic.ko",
            ]
        );
    }

    #[test]
    fn libraries_are_those_with_a_file() {
        let listed = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /a/lib/libc.so.6 (0x2)\n\
                      \t/lib64/ld.so.2 => /a/lib/ld.so.2 (0x3)\n";
        assert_eq!(libraries_in(listed).collect::<Vec<_>>(), ["libc.so.6", "ld.so.2"]);
    }
}
