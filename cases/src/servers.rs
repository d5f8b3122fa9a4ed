//! Real servers of Kubernetes on loopback: etcd and the API server, and whoever decides beside them.
//!
//! Their programs are no part of this repository: `KUBEBUILDER_ASSETS` names the folder in which
//! people usually have them, `KUBERNETES_CRDS` one with the published definitions of what others
//! add to Kubernetes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long servers may take to get ready.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Definitions of what is rendered and is not Kubernetes' own.
const DEFINITIONS: [&str; 4] = ["calico", "istio", "kamaji", "kubevirt"];

/// Programs that run on this machine's loopback alone, and their folder.
#[derive(Debug)]
pub struct Servers {
    folder: PathBuf,
    assets: PathBuf,
    address: String,
    children: Vec<Child>,
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            drop(child.kill());
            drop(child.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Who asks: a token, a name and a group.
const PEOPLE: [[&str; 3]; 6] = [
    ["admin", "admin", "system:masters"],
    ["manager", "system:kube-controller-manager", "system:masters"],
    ["scheduler", "system:kube-scheduler", "system:masters"],
    ["ann", "ann", "acme-people"],
    ["eve", "eve", "vault-people"],
    ["kubevirt", "system:serviceaccount:kubevirt:kubevirt-controller", "system:masters"],
];

impl Servers {
    /// The API server and its store, once they are ready; or why they are not.
    pub fn api() -> Result<Self, String> {
        let assets = folder_of("KUBEBUILDER_ASSETS")?;
        let folder = std::env::temp_dir().join(format!("servers-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
        let [client, peer, api] = [free_port()?, free_port()?, free_port()?];
        let address = format!("https://127.0.0.1:{api}");
        let mut servers = Self { folder, assets, address, children: Vec::new() };
        let tokens = PEOPLE.map(|[token, name, group]| format!("{token},{name},{token},{group}\n"));
        let tokens = servers.write("tokens.csv", &tokens.concat())?;
        let pair = rcgen::KeyPair::generate().map_err(|cause| cause.to_string())?;
        let public = servers.write("public.pem", &pair.public_key_pem())?;
        let key = servers.write("key.pem", &pair.serialize_pem())?;
        let at = |port| format!("http://127.0.0.1:{port}");
        let data = servers.folder.join("etcd");
        servers.run(
            "etcd",
            &[
                &format!("--data-dir={}", data.display()),
                "--unsafe-no-fsync",
                &format!("--listen-client-urls={}", at(client)),
                &format!("--advertise-client-urls={}", at(client)),
                &format!("--listen-peer-urls={}", at(peer)),
                &format!("--initial-advertise-peer-urls={}", at(peer)),
                &format!("--initial-cluster=default={}", at(peer)),
            ],
        )?;
        let certificates = servers.folder.join("certificates");
        servers.run(
            "kube-apiserver",
            &[
                &format!("--etcd-servers={}", at(client)),
                "--bind-address=127.0.0.1",
                &format!("--secure-port={api}"),
                &format!("--cert-dir={}", certificates.display()),
                &format!("--token-auth-file={tokens}"),
                &format!("--service-account-key-file={public}"),
                &format!("--service-account-signing-key-file={key}"),
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--authorization-mode=RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--endpoint-reconciler-type=none",
            ],
        )?;
        servers.until("the API is ready", |servers| {
            servers.ask("admin", &["get", "--raw=/readyz"], None).0
        })?;
        Ok(servers)
    }

    /// The same with the controllers and the scheduler.
    pub fn all() -> Result<Self, String> {
        let mut servers = Self::api()?;
        let manager = servers.config("manager")?;
        let key = servers.folder.join("key.pem");
        servers.run(
            "kube-controller-manager",
            &[
                &format!("--kubeconfig={manager}"),
                &format!("--service-account-private-key-file={}", key.display()),
                "--leader-elect=false",
                "--secure-port=0",
                // Nobody renews the leases of these nodes.
                "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
            ],
        )?;
        let scheduler = servers.config("scheduler")?;
        servers.run(
            "kube-scheduler",
            &[&format!("--kubeconfig={scheduler}"), "--leader-elect=false", "--secure-port=0"],
        )?;
        Ok(servers)
    }

    /// Teaches the API server what others add to Kubernetes.
    pub fn define(&self) -> Result<(), String> {
        let crds = folder_of("KUBERNETES_CRDS")?;
        for name in DEFINITIONS {
            let file = crds.join(format!("{name}.yaml")).display().to_string();
            self.must(&["create", "-f", &file], None)?;
        }
        let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
        self.must(&wait, None).map(drop)
    }

    fn write(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|cause| format!("{}: {cause}", path.display()))?;
        Ok(path.display().to_string())
    }

    fn config(&self, who: &str) -> Result<String, String> {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.address, "insecure-skip-tls-verify": true}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "users": [{"name": "c", "user": {"token": who}}],
        });
        self.write(&format!("{who}.conf"), &config.to_string())
    }

    fn run(&mut self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let broken = |cause| format!("{program}: {cause}");
        let log = File::create(self.folder.join(format!("{program}.log"))).map_err(broken)?;
        let mut command = Command::new(self.assets.join(program));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.children.push(command.spawn().map_err(broken)?);
        Ok(())
    }

    /// What kubectl says to somebody, and whether it was content.
    #[must_use]
    pub fn ask(&self, who: &str, arguments: &[&str], input: Option<&str>) -> (bool, String) {
        match self.said(who, arguments, input) {
            Ok((is_done, out, err)) => (is_done, out + &err),
            Err(cause) => (false, format!("kubectl: {cause}")),
        }
    }

    /// The same, with what it prints and what it complains of apart.
    pub fn said(
        &self,
        who: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> Result<(bool, String, String), String> {
        let config = self.config(who)?;
        let mut command = Command::new(self.assets.join("kubectl"));
        command.arg(format!("--kubeconfig={config}")).args(arguments);
        command.env("HOME", &self.folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(|cause| cause.to_string())?;
        let input = input.unwrap_or_default().to_owned();
        let pipe = child.stdin.take();
        // It may say more than a pipe holds before it has read everything.
        let writer =
            std::thread::spawn(move || pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
        let output = child.wait_with_output().map_err(|cause| cause.to_string())?;
        drop(writer.join());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
    }

    /// What kubectl says to whoever runs the cluster; all else is an error.
    pub fn must(&self, arguments: &[&str], input: Option<&str>) -> Result<String, String> {
        match self.ask("admin", arguments, input) {
            (true, said) => Ok(said),
            (false, said) => Err(format!("kubectl {arguments:?}: {said}")),
        }
    }

    /// Asks until it is so.
    pub fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), String> {
        let started = Instant::now();
        while !is_so(self) {
            if started.elapsed() > PATIENCE {
                return Err(format!("waited in vain until {what}: {}", self.logs()));
            }
        }
        Ok(())
    }

    fn logs(&self) -> String {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let logs = entries.map(|entry| entry.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|end| end == "log"));
        let last = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(5).collect();
            format!("\n{}:\n{}", path.display(), lines.join("\n"))
        };
        logs.map(last).collect()
    }

    /// Which releases they are.
    #[must_use]
    pub fn versions(&self) -> String {
        let api = self.ask("admin", &["version", "-o", "json"], None).1;
        let api: Value = serde_json::from_str(&api).unwrap_or_default();
        let etcd = Command::new(self.assets.join("etcd")).arg("--version").output();
        let etcd = etcd.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
        let etcd = etcd.unwrap_or_default();
        let etcd = etcd.lines().next().unwrap_or_default().trim_start_matches("etcd Version: ");
        format!(
            "Kubernetes {}, etcd {etcd}",
            api["serverVersion"]["gitVersion"].as_str().unwrap_or("?")
        )
    }
}

fn folder_of(variable: &str) -> Result<PathBuf, String> {
    let value: Option<OsString> = std::env::var_os(variable);
    let folder = value.map(PathBuf::from).filter(|folder| Path::is_dir(folder));
    folder.ok_or_else(|| format!("{variable} names no folder"))
}

/// A port of loopback that nobody has.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    listener.map(|address| address.port()).map_err(|cause| cause.to_string())
}
