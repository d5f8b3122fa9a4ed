//! What is rendered for a Kubernetes cluster, put into a real one: what leads out is refused, and
//! honest work runs where the plan says.
//!
//! The servers are no part of this repository: they are taken from where people usually have them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::guest::{here_and_now, with_result};
use crate::{Failure, shell};

/// The document that keeps the last result.
const RECORD: &str = "docs/kubernetes-test.md";

const PROGRAMS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// Definitions of what is rendered and is not Kubernetes' own.
const DEFINITIONS: [&str; 4] = ["calico.yaml", "istio.yaml", "kamaji.yaml", "kubevirt.yaml"];

/// What is wished for.
pub(crate) struct Wish<'a> {
    definitions: Option<&'a str>,
    record: bool,
}

impl<'a> Wish<'a> {
    pub(crate) fn from_words(words: &[&'a str]) -> Option<Self> {
        let mut wish = Self { definitions: None, record: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--record" => wish.record = true,
                "--crds" => wish.definitions = Some(words.next()?),
                _ => return None,
            }
        }
        Some(wish)
    }
}

pub(crate) fn run(wish: &Wish<'_>) -> Result<(), Failure> {
    let servers = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from).ok_or_else(|| {
        Failure::Broken(
            "KUBEBUILDER_ASSETS names no folder: it has the servers of Kubernetes 1.34 or later. \
             `setup-envtest use 1.34` brings etcd, kube-apiserver and kubectl; kube-scheduler and \
             kube-controller-manager of the same release are put beside them"
                .into(),
        )
    })?;
    there("KUBEBUILDER_ASSETS", &servers, &PROGRAMS)?;
    let definitions = wish.definitions.map(PathBuf::from).ok_or_else(|| {
        Failure::Broken(format!(
            "`--crds DIR` names no folder: it has the published definitions of what others add to \
             Kubernetes, as {}",
            DEFINITIONS.join(", ")
        ))
    })?;
    there("--crds", &definitions, &DEFINITIONS)?;
    let [servers, definitions] =
        [servers, definitions].map(|path| fs::canonicalize(&path).unwrap_or(path));
    let result = shell::target()?.join("kubernetes-test.txt");
    drop(fs::remove_file(&result));
    let line = ["cargo", "test", "--quiet", "--package", "cases", "--test", "admission", "--"];
    let mut command = shell::command(&[line.as_slice(), &["--ignored", "--nocapture"]].concat())?;
    command.env("KUBEBUILDER_ASSETS", servers).env("KUBERNETES_CRDS", definitions);
    crate::ended(command.env("KUBERNETES_RESULT", &result))?;
    if wish.record { write_down(&result) } else { Ok(()) }
}

fn there(what: &str, folder: &Path, names: &[&str]) -> Result<(), Failure> {
    match names.iter().find(|name| !folder.join(name).is_file()) {
        None => Ok(()),
        Some(missing) => Err(Failure::Broken(format!("the folder of {what} has no {missing}"))),
    }
}

fn write_down(result: &Path) -> Result<(), Failure> {
    let path = shell::root()?.join(RECORD);
    let broken = |cause| Failure::Broken(format!("cannot write {RECORD}: {cause}"));
    let (text, seen) =
        (fs::read_to_string(&path).map_err(broken)?, fs::read_to_string(result).map_err(broken)?);
    let (date, _) = here_and_now();
    fs::write(&path, with_result(&text, &format!("{date}, {seen}"))).map_err(broken)
}
