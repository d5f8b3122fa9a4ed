//! Who somebody is, and whom they believe.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use model::Name;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

/// The name in the certificate of whoever may command.
pub const CONTROLLER: &str = "controller";

/// The name in the certificate of a node. No node can be called as the controller is: theirs have
/// a dot.
pub(crate) fn server_name(node: &Name) -> String {
    format!("{node}{NODE}")
}

/// The names of nodes end with this.
const NODE: &str = ".node";

/// A certificate with its key, and the authorities it believes.
pub struct Identity {
    folder: PathBuf,
    name: String,
    changed: SystemTime,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    trusted: Arc<RootCertStore>,
}

/// Why a folder gives no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read.
    #[error("cannot read {}: an identity is a folder with name, cert.pem, key.pem and authority.pem", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{} holds no such thing in PEM", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: pem::Error,
    },
    /// Key, certificate and authority do not belong together.
    #[error(
        "key, certificate and authority in {} do not belong together: `rotate` makes new ones",
        folder.display()
    )]
    Mixed {
        /// Where.
        folder: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// The authority's certificate is of no use.
    #[error("the authority in {} cannot be believed", folder.display())]
    Authority {
        /// Where.
        folder: PathBuf,
        /// Why not.
        source: VerifierBuilderError,
    },
    /// The certificate is of somebody else.
    #[error("the certificate in {} does not say `{wanted}`, as the file `name` does", folder.display())]
    Another {
        /// Where.
        folder: PathBuf,
        /// Who it should be.
        wanted: String,
        /// Who it is.
        source: rustls::Error,
    },
}

impl Identity {
    /// Reads an identity from its folder, and insists that its certificate says its name.
    pub fn open(folder: &Path) -> Result<Self, IdentityError> {
        let file = folder.join("name");
        let name = fs::read_to_string(&file).map_err(unreadable(&file))?.trim().to_owned();
        let file = folder.join("cert.pem");
        let (changed, chain) = (modified(&file)?, certificates(&file)?);
        let file = folder.join("key.pem");
        let key = PrivateKeyDer::from_pem_slice(&bytes(&file)?)
            .map_err(|source| IdentityError::Pem { path: file, source })?;
        let mut trusted = RootCertStore::empty();
        for certificate in certificates(&folder.join("authority.pem"))? {
            trusted
                .add(certificate)
                .map_err(|source| IdentityError::Mixed { folder: folder.to_owned(), source })?;
        }
        let own = chain.first().ok_or(rustls::Error::NoCertificatesPresented);
        if let Err(source) = own.and_then(|own| is_named(own, &name)) {
            return Err(IdentityError::Another { folder: folder.to_owned(), wanted: name, source });
        }
        let (folder, trusted) = (folder.to_owned(), Arc::new(trusted));
        Ok(Self { folder, name, changed, chain, key, trusted })
    }

    /// The node that this is, if it is one.
    #[must_use]
    pub fn node(&self) -> Option<Name> {
        self.name.strip_suffix(NODE).and_then(|name| name.parse().ok())
    }

    /// Whether this is who may command.
    #[must_use]
    pub fn is_controller(&self) -> bool {
        self.name == CONTROLLER
    }

    /// Whether there is a newer certificate in its folder.
    pub(crate) fn is_outdated(&self) -> bool {
        modified(&self.folder.join("cert.pem")).is_ok_and(|changed| changed != self.changed)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How a node listens: it proves its name, and wants a proof from everybody.
    pub(crate) fn server(&self) -> Result<Arc<ServerConfig>, IdentityError> {
        let mixed = |source| IdentityError::Mixed { folder: self.folder.clone(), source };
        let verifier = WebPkiClientVerifier::builder_with_provider(
            self.trusted.clone(),
            provider(),
        )
        .build()
        .map_err(|source| IdentityError::Authority { folder: self.folder.clone(), source })?;
        let mut server = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(mixed)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(mixed)?;
        // A resumed session is not asked for its certificate again, which may have expired since.
        server.send_tls13_tickets = 0;
        Ok(Arc::new(server))
    }

    /// How the controller asks: it proves its name, and wants the node's.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, IdentityError> {
        let mixed = |source| IdentityError::Mixed { folder: self.folder.clone(), source };
        let mut client = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(mixed)?
            .with_root_certificates(self.trusted.clone())
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(mixed)?;
        client.resumption = Resumption::disabled();
        Ok(Arc::new(client))
    }
}

/// Whether a certificate carries this name.
pub(crate) fn is_named(certificate: &CertificateDer<'_>, name: &str) -> Result<(), rustls::Error> {
    let name = ServerName::try_from(name)
        .map_err(|_| rustls::Error::General(format!("`{name}` cannot stand in a certificate")))?;
    let certificate = ParsedCertificate::try_from(certificate)?;
    rustls::client::verify_server_name(&certificate, &name)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let wrong = |source| IdentityError::Pem { path: path.to_owned(), source };
    CertificateDer::pem_slice_iter(&bytes(path)?).collect::<Result<_, _>>().map_err(wrong)
}

fn bytes(path: &Path) -> Result<Vec<u8>, IdentityError> {
    fs::read(path).map_err(unreadable(path))
}

fn modified(path: &Path) -> Result<SystemTime, IdentityError> {
    fs::metadata(path).and_then(|about| about.modified()).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> IdentityError {
    let path = path.to_owned();
    |source| IdentityError::File { path, source }
}
