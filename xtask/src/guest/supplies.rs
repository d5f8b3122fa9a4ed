//! What the machines are made of: an emulator, a kernel, and the few files they start with.
//!
//! All of it is Debian's, and none of it is installed: packages are unpacked below the target
//! folder, with everything they need down to the C library, and run from there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::must;
use crate::{Failure, shell};

/// What the machines of one test need.
pub(crate) struct Kit {
    /// The folder below the target folder.
    pub(crate) folder: &'static str,
    /// Packages, without what they need themselves.
    pub(crate) packages: &'static [&'static str],
    /// The packages whose versions a result names; an archive's name begins so.
    pub(crate) matters: &'static [&'static str],
    /// What is taken newer than the distribution's own, from its backports.
    pub(crate) newer: Newer,
    /// What the machines need of the kernel beside what is built into it.
    pub(crate) modules: &'static [&'static str],
    /// Words for the kernel's command line.
    pub(crate) kernel: &'static str,
    /// The programs in the machines, beside those of busybox, as packages have them. They are found
    /// by their names, and daemons where their packages put them.
    pub(crate) programs: &'static [&'static str],
    /// Whether the machines have drivers of RDMA.
    pub(crate) has_verbs: bool,
    /// What a machine can be asked for.
    pub(crate) wishes: &'static str,
}

/// What is newer than the distribution's own.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Newer {
    Nothing,
    /// All packages but the kernel.
    Packages,
    Kernel,
}

/// Names the newest kernel of the distribution.
const KERNEL: &str = "linux-image-amd64";
/// Where newer packages are, and who signs both.
const BACKPORTS: &str = "bookworm-backports";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where Debian keeps libraries on this architecture.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

const INIT: &str = include_str!("../../../lab/guest/init.sh");

/// Where everything is.
pub(crate) struct Supplies {
    kit: &'static Kit,
    folder: PathBuf,
    /// The version of the kernel, as its modules' folder is called.
    release: String,
}

impl Supplies {
    /// Gets what is missing, and packs the machines' first files anew, with programs that were
    /// built here.
    pub(crate) fn gather(kit: &'static Kit, built: &[PathBuf]) -> Result<Self, Failure> {
        let folder = shell::target()?.join(kit.folder);
        if !folder.join("unpacked").exists() {
            println!("Getting an emulator, a kernel and tools into {}.", folder.display());
            Source { kit, folder: &folder }.download()?;
            unpack(&folder)?;
        }
        let release = only_entry(&folder.join("unpacked/usr/lib/modules"))?;
        let supplies = Self { kit, folder, release };
        supplies.pack(built).map_err(|cause| broken("pack the machines' files", &cause))?;
        Ok(supplies)
    }

    /// Where a run may leave its logs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kernel(&self) -> PathBuf {
        self.root().join("boot").join(format!("vmlinuz-{}", self.release))
    }

    pub(crate) fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs")
    }

    pub(crate) const fn kernel_words(&self) -> &'static str {
        self.kit.kernel
    }

    /// The words that start the emulator with its own libraries, firmware and modules.
    pub(crate) fn emulator(&self) -> Vec<String> {
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
    pub(crate) fn versions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("packages")).into_iter().flatten().flatten();
        let mut versions: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| self.kit.matters.iter().any(|start| name.starts_with(start)))
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
    fn pack(&self, built: &[PathBuf]) -> std::io::Result<()> {
        let stage = self.folder.join("stage");
        let _ = fs::remove_dir_all(&stage);
        for folder in ["bin", "dev", "etc", "lib64", "modules", "proc", "sys", "tmp", LIBRARIES] {
            fs::create_dir_all(stage.join(folder))?;
        }
        script(&stage.join("init"), INIT)?;
        script(&stage.join("wishes.sh"), self.kit.wishes)?;
        let programs = self.kit.programs.iter().chain(&["usr/bin/busybox"]).map(Path::new);
        let programs = programs.map(|program| (self.root().join(program), place(program)));
        let built = built.iter().map(|program| (program.clone(), place(program)));
        for (file, place) in programs.chain(built) {
            let to = stage.join(place);
            fs::create_dir_all(to.parent().unwrap_or(&stage))?;
            fs::copy(&file, to)?;
            self.copy_libraries(&file, &stage)?;
        }
        if self.kit.has_verbs {
            self.copy_verbs(&stage)?;
        }
        self.copy_modules(&stage)?;
        self.archive(&stage)
    }

    /// Copies the libraries of a program; a static one has none.
    fn copy_libraries(&self, program: &Path, stage: &Path) -> std::io::Result<()> {
        let libraries = self.root().join(LIBRARIES);
        let loader = libraries.join(LOADER);
        // FRR's own library is in a folder of its own.
        let folders = [libraries.clone(), libraries.join("frr")];
        let [main, own] = folders.each_ref().map(|folder| folder.display().to_string());
        let (path, program) = (format!("{main}:{own}"), program.display().to_string());
        let loading = loader.display().to_string();
        let words = [&loading, "--library-path", &path, "--list", &program];
        let listed = shell::output(&words).unwrap_or_default();
        for file in libraries_in(&listed) {
            let found = folders.iter().map(|folder| folder.join(file)).find(|file| file.exists());
            fs::copy(
                found.unwrap_or_else(|| libraries.join(file)),
                stage.join(LIBRARIES).join(file),
            )?;
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
        for (place, module) in in_order(&needs, self.kit.modules).iter().enumerate() {
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

/// Where a program is in the machines.
fn place(program: &Path) -> PathBuf {
    match program.parent() {
        Some(folder) if folder.starts_with("usr/lib") => program.to_owned(),
        _ => Path::new("bin").join(program.file_name().unwrap_or_default()),
    }
}

fn script(file: &Path, text: &str) -> std::io::Result<()> {
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// Where packages come from.
struct Source<'a> {
    kit: &'a Kit,
    folder: &'a Path,
}

impl Source<'_> {
    /// Gets all packages with all they need, as if nothing were installed on this machine.
    fn download(&self) -> Result<(), Failure> {
        let packages = self.folder.join("packages");
        let _ = fs::remove_dir_all(&packages);
        for folder in [packages.join("partial"), self.folder.join("lists/partial")] {
            fs::create_dir_all(folder).map_err(|cause| broken("make a folder", &cause))?;
        }
        fs::write(self.folder.join("nothing-installed"), "")
            .map_err(|cause| broken("write a file", &cause))?;
        let options = self.options()?;
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        must(&[&["apt-get", "update", "--quiet", "--quiet"], options.as_slice()].concat())?;
        let line = ["apt-get", "install", "--download-only", "--quiet", "--quiet", "--yes"];
        let mut line = [&line, ["--no-install-recommends"].as_slice(), &options].concat();
        if self.kit.newer == Newer::Packages {
            line.extend(["-t", BACKPORTS]);
        }
        line.extend(self.kit.packages);
        must(&line)?;
        let kernel = newest_kernel(&options, self.kit.newer)?;
        let packages = packages.display().to_string();
        let script = r#"cd "$1" && shift && apt-get download --quiet --quiet "$@""#;
        let line = ["sh", "-c", script, "sh", &packages, "-o", "APT::Sandbox::User=root"];
        must(&[line.as_slice(), &options, &[&kernel]].concat())
    }

    /// Nothing is installed, nothing is locked, and nothing of this machine's apt is changed.
    fn options(&self) -> Result<Vec<String>, Failure> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let mut settings = vec![
            format!("Dir::State::status={}", path("nothing-installed")),
            format!("Dir::Cache::archives={}", path("packages")),
            "Debug::NoLocking=1".to_owned(),
        ];
        if self.kit.newer != Newer::Nothing {
            let list = path("sources.list");
            fs::write(&list, sources()?).map_err(|cause| broken("write a file", &cause))?;
            settings.extend([
                format!("Dir::Etc::sourcelist={list}"),
                "Dir::Etc::sourceparts=-".to_owned(),
                format!("Dir::State::lists={}", path("lists")),
                "Dir::Cache::pkgcache=".to_owned(),
                "Dir::Cache::srcpkgcache=".to_owned(),
            ]);
        }
        Ok(settings.into_iter().flat_map(|setting| ["-o".to_owned(), setting]).collect())
    }
}

/// Where this machine gets the distribution from, and its backports.
fn sources() -> Result<String, Failure> {
    let line = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let said = shell::output(&[line.as_slice(), &["Codename: bookworm"]].concat());
    let said = said.unwrap_or_default();
    let Some(mirror) = said.lines().next() else {
        let why = "apt knows no mirror of Debian 12; add one, then try again";
        return Err(Failure::Broken(why.to_owned()));
    };
    let line = |suite: &str| format!("deb [signed-by={KEYS}] {mirror} {suite} main\n");
    Ok(["bookworm", BACKPORTS].map(line).concat())
}

/// The package that holds the kernel itself.
fn newest_kernel(options: &[&str], newer: Newer) -> Result<String, Failure> {
    let release = format!("APT::Default-Release={BACKPORTS}");
    let mut line = [&["apt-cache", "depends", KERNEL], options].concat();
    if newer == Newer::Kernel {
        line.extend(["-o", &release]);
    }
    let said = shell::output(&line).unwrap_or_default();
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
    find "$2/usr/lib/modules" -name '*.ko.xz' -exec unxz {} +
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
        let advice = "remove its folder below the target folder, then try again";
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
