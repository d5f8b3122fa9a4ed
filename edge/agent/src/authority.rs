//! The local authority: a folder that says who is who.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::Name;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::address::{Address, NotAnAddress};
use crate::files;
use crate::identity::{CONTROLLER, server_name};

/// How long the certificate of a node or of the controller is good.
pub const GOOD_FOR: Duration = Duration::from_secs(90 * DAY_S);
/// How long the authority itself is good.
const AUTHORITY_GOOD_FOR: Duration = Duration::from_secs(3650 * DAY_S);
/// Clocks of nodes may be so much behind ours.
const SKEW: Duration = Duration::from_secs(3600);
const DAY_S: u64 = 24 * 3600;

/// An authority of our own, in a folder:
///
/// ```text
/// authority.pem authority.key          it signs with these
/// before/authority.{pem,key}           the one before, as long as it is still trusted
/// controller/{cert,key,authority}.pem  who may command; beside them, its `name`
/// nodes/NAME/{cert,key,authority}.pem  who a node is: this folder goes to that node
/// nodes/NAME/{name,address}            as its certificate says it, and where its agent listens
/// ```
pub struct Authority {
    folder: PathBuf,
    today: SystemTime,
}

/// What a rotation made new.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rotated {
    /// The nodes with a new certificate: their folders must be brought to them.
    pub nodes: Vec<Name>,
    /// What became of the authority itself.
    pub authority: Turn,
}

/// What a rotation did to the authority.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// It is the same as before.
    Kept,
    /// There is a new one, and both are trusted until the next rotation.
    Overlaps,
    /// The one before is no longer trusted.
    Ended,
}

/// Why the authority did not do it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There is one.
    #[error("there is an authority in {} already: it is kept; `rotate` renews it", .0.display())]
    IsThere(PathBuf),
    /// There is none.
    #[error("there is no authority in {}: `init` makes one", .0.display())]
    IsNotThere(PathBuf),
    /// The node has an identity.
    #[error("{0} is enrolled already: its identity is kept; `rotate` renews it")]
    Enrolled(Name),
    /// What is said about a node's address makes no sense.
    #[error("the address of {node} in {} cannot be used", file.display())]
    Address {
        /// Whose.
        node: Name,
        /// Where it stands.
        file: PathBuf,
        /// Why not.
        source: NotAnAddress,
    },
    /// A file cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
}

type Result<T> = std::result::Result<T, AuthorityError>;

/// What a certificate is for, and so what it may be used as.
enum Role<'a> {
    Controller,
    Node(&'a Name),
}

/// Signs, and is known by its certificate.
struct Signer {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a new authority in this folder, and the controller's identity.
    pub fn init(folder: &Path) -> Result<Self> {
        let authority = Self { folder: folder.to_owned(), today: SystemTime::now() };
        if authority.key_file().exists() {
            return Err(AuthorityError::IsThere(folder.to_owned()));
        }
        files::make_folder(folder).map_err(unusable(folder))?;
        let signer = authority.make_signer()?;
        let trusted = signer.pem.clone();
        authority.sign(&signer, &Role::Controller, &trusted)?;
        Ok(authority)
    }

    /// The authority in this folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let authority = Self { folder: folder.to_owned(), today: SystemTime::now() };
        if !authority.key_file().exists() {
            return Err(AuthorityError::IsNotThere(folder.to_owned()));
        }
        Ok(authority)
    }

    /// The same authority, as if it were this time: to rehearse what happens when certificates
    /// expire.
    #[must_use]
    pub fn dated(mut self, today: SystemTime) -> Self {
        self.today = today;
        self
    }

    /// Makes the identity of a node and notes where its agent listens. Gives the folder that goes
    /// to the node.
    pub fn enroll(&self, node: &Name, address: &Address) -> Result<PathBuf> {
        let folder = self.node_folder(node);
        if folder.join("key.pem").exists() {
            return Err(AuthorityError::Enrolled(node.clone()));
        }
        let signer = self.signer(&self.folder)?;
        self.sign(&signer, &Role::Node(node), &self.trusted()?)?;
        self.put(&folder.join("address"), &format!("{address}\n"))?;
        Ok(folder)
    }

    /// The folder with the identity of whoever may command.
    #[must_use]
    pub fn controller(&self) -> PathBuf {
        self.folder.join("controller")
    }

    /// Makes a new key and certificate for every node and the controller. With `authority`, a new
    /// authority signs them.
    ///
    /// Nodes learn of a new authority only when their folder is brought to them, so until the
    /// next rotation everybody trusts both, and the controller's certificate is still of the one
    /// before: whoever has the new folder and whoever has the old one can be commanded.
    pub fn rotate(&self, authority: bool) -> Result<Rotated> {
        let turn = if authority {
            self.set_aside()?;
            Turn::Overlaps
        } else if self.before().exists() {
            self.remove(&self.before())?;
            Turn::Ended
        } else {
            Turn::Kept
        };
        let signer = if authority { self.make_signer()? } else { self.signer(&self.folder)? };
        let trusted = self.trusted()?;
        let nodes: Vec<Name> = self.nodes()?.into_keys().collect();
        for node in &nodes {
            self.sign(&signer, &Role::Node(node), &trusted)?;
        }
        let known = if authority { self.signer(&self.before())? } else { signer };
        self.sign(&known, &Role::Controller, &trusted)?;
        Ok(Rotated { nodes, authority: turn })
    }

    /// Every enrolled node and where its agent listens.
    pub fn nodes(&self) -> Result<BTreeMap<Name, Address>> {
        let folder = self.folder.join("nodes");
        let mut nodes = BTreeMap::new();
        if !folder.exists() {
            return Ok(nodes);
        }
        for entry in fs::read_dir(&folder).map_err(unusable(&folder))? {
            let path = entry.map_err(unusable(&folder))?.path();
            // Whatever is not called as a node is none: an editor's file, a folder's own secrets.
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(node) = name.and_then(|name| name.parse::<Name>().ok()) else {
                continue;
            };
            let file = path.join("address");
            let text = fs::read_to_string(&file).map_err(unusable(&file))?;
            let address = text.trim().parse().map_err(|source| AuthorityError::Address {
                node: node.clone(),
                file: file.clone(),
                source,
            })?;
            nodes.insert(node, address);
        }
        Ok(nodes)
    }

    /// Moves the authority to where the one before is kept. One that was there already is no
    /// longer trusted.
    fn set_aside(&self) -> Result<()> {
        let before = self.before();
        if before.exists() {
            self.remove(&before)?;
        }
        files::make_folder(&before).map_err(unusable(&before))?;
        for name in ["authority.pem", "authority.key"] {
            let file = self.folder.join(name);
            let text = fs::read_to_string(&file).map_err(unusable(&file))?;
            self.put(&before.join(name), &text)?;
        }
        Ok(())
    }

    fn make_signer(&self) -> Result<Signer> {
        let key = KeyPair::generate()?;
        let params = self.authority_params(&key);
        let pem = params.self_signed(&key)?.pem();
        self.put(&self.key_file(), &key.serialize_pem())?;
        self.put(&self.folder.join("authority.pem"), &pem)?;
        Ok(Signer { issuer: Issuer::new(params, key), pem })
    }

    fn signer(&self, folder: &Path) -> Result<Signer> {
        let text = |name: &str| {
            let file = folder.join(name);
            fs::read_to_string(&file).map_err(unusable(&file))
        };
        let (pem, key) = (text("authority.pem")?, KeyPair::from_pem(&text("authority.key")?)?);
        Ok(Signer { issuer: Issuer::new(self.authority_params(&key), key), pem })
    }

    /// Whoever signs is known by its key alone, so its certificate need not be read to sign again.
    fn authority_params(&self, key: &KeyPair) -> CertificateParams {
        let mut params = self.params(AUTHORITY_GOOD_FOR);
        params.distinguished_name.push(DnType::CommonName, "authority");
        // Two authorities stand side by side during a rotation: their names must differ.
        let id = params.key_identifier(key);
        let id: String = id.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::OrganizationalUnitName, id);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    /// Makes a key and a certificate and puts them where they belong.
    fn sign(&self, signer: &Signer, role: &Role<'_>, trusted: &str) -> Result<()> {
        let (folder, name) = match role {
            Role::Controller => (self.controller(), CONTROLLER.to_owned()),
            Role::Node(node) => (self.node_folder(node), server_name(node)),
        };
        files::make_folder(&folder).map_err(unusable(&folder))?;
        let key = KeyPair::generate()?;
        let certificate = self.certificate(signer, role, &name, &key)?;
        self.put(&folder.join("name"), &format!("{name}\n"))?;
        self.put(&folder.join("authority.pem"), trusted)?;
        self.put(&folder.join("key.pem"), &key.serialize_pem())?;
        self.put(&folder.join("cert.pem"), &certificate.pem())
    }

    fn certificate(
        &self,
        signer: &Signer,
        role: &Role<'_>,
        name: &str,
        key: &KeyPair,
    ) -> Result<Certificate> {
        let purpose = match role {
            Role::Controller => ExtendedKeyUsagePurpose::ClientAuth,
            Role::Node(_) => ExtendedKeyUsagePurpose::ServerAuth,
        };
        let mut params = self.params(GOOD_FOR);
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = CertificateParams::new(vec![name.to_owned()])?.subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(key, &signer.issuer)?)
    }

    fn params(&self, good_for: Duration) -> CertificateParams {
        let now = self.today.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = date_time_ymd(1970, 1, 1) + now;
        let mut params = CertificateParams::default();
        params.not_before = now - SKEW;
        params.not_after = now + good_for;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
    }

    /// Everybody whose certificates are believed: this authority, and the one before during a
    /// rotation.
    fn trusted(&self) -> Result<String> {
        let mut trusted = String::new();
        for folder in [self.folder.clone(), self.before()] {
            let file = folder.join("authority.pem");
            if folder == self.folder || file.exists() {
                trusted.push_str(&fs::read_to_string(&file).map_err(unusable(&file))?);
            }
        }
        Ok(trusted)
    }

    fn put(&self, file: &Path, text: &str) -> Result<()> {
        files::put(file, text.as_bytes(), files::Durable::Yes).map_err(unusable(file))
    }

    fn remove(&self, folder: &Path) -> Result<()> {
        fs::remove_dir_all(folder).map_err(unusable(folder))
    }

    fn key_file(&self) -> PathBuf {
        self.folder.join("authority.key")
    }

    fn before(&self) -> PathBuf {
        self.folder.join("before")
    }

    fn node_folder(&self, node: &Name) -> PathBuf {
        self.folder.join("nodes").join(node.as_str())
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> AuthorityError {
    let path = path.to_owned();
    |source| AuthorityError::File { path, source }
}
