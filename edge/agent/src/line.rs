//! A line to one agent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use model::Name;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::{Address, Stream};
use crate::identity::server_name;
use crate::message::{Answer, Greeting, News, Request, VERSION, hear, say};

/// An agent that does not prove its name by then is not there.
const CONNECT: Duration = Duration::from_secs(5);

/// Why an agent did not do what it was asked for.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TalkError {
    /// The authority does not know it.
    #[error("no agent is enrolled: `ca enroll {0} --address …` makes an identity for it")]
    NotEnrolled(Name),
    /// Nobody is there.
    #[error("nobody answers at {address} ({why}): start its agent, or correct its address")]
    Nobody {
        /// Where.
        address: Address,
        /// What the machine says.
        why: String,
    },
    /// One of the two does not believe the other.
    #[error("{0}")]
    Unproved(String),
    /// It speaks another version of the language.
    #[error("its agent speaks version {theirs} and we speak {VERSION}: bring both to one release")]
    Version {
        /// Which.
        theirs: u32,
    },
    /// It took too long.
    #[error("no answer within {} s: look at the agent's log", .0.as_secs())]
    Late(Duration),
    /// The line broke.
    #[error("the line broke ({0}): try again")]
    Broke(String),
    /// It answered, and could not do it.
    #[error("it answers, but {step} failed: {said}")]
    Failed {
        /// What it was doing.
        step: String,
        /// What went wrong.
        said: String,
    },
}

/// A line to one agent that proved its name.
pub(crate) struct Line {
    stream: TlsStream<Box<dyn Stream>>,
}

impl Line {
    pub(crate) async fn open(
        node: &Name,
        address: &Address,
        tls: &Arc<ClientConfig>,
    ) -> Result<Self, TalkError> {
        let opened = timeout(CONNECT, Self::try_open(node, address, tls)).await;
        opened.unwrap_or(Err(TalkError::Late(CONNECT)))
    }

    async fn try_open(
        node: &Name,
        address: &Address,
        tls: &Arc<ClientConfig>,
    ) -> Result<Self, TalkError> {
        let stream = address.connect().await.map_err(|error| TalkError::Nobody {
            address: address.clone(),
            why: error.to_string(),
        })?;
        let name = ServerName::try_from(server_name(node))
            .map_err(|error| TalkError::Unproved(error.to_string()))?;
        let connected = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
        let mut stream = connected.map_err(|error| unproved(&error))?;
        // The agent judges our certificate after we judged its: what it says first tells.
        match hear(&mut stream).await.map_err(|error| unproved(&error))? {
            Some(Greeting::Welcome { version, .. }) if version != VERSION => {
                Err(TalkError::Version { theirs: version })
            }
            Some(Greeting::Welcome { node: theirs, .. }) if theirs != *node => {
                Err(TalkError::Unproved(format!("it says that it is {theirs}")))
            }
            Some(Greeting::Welcome { .. }) => Ok(Self { stream }),
            Some(Greeting::Refused { why }) => Err(TalkError::Unproved(why)),
            None => Err(TalkError::Broke("it hung up".into())),
        }
    }

    /// Asks, and waits for the answer so long.
    pub(crate) async fn ask(
        &mut self,
        request: &Request,
        at_most: Duration,
    ) -> Result<Answer, TalkError> {
        let talk = async {
            say(&mut self.stream, request).await?;
            hear(&mut self.stream).await
        };
        match timeout(at_most, talk).await {
            Err(_) => Err(TalkError::Late(at_most)),
            Ok(Err(error)) => Err(TalkError::Broke(error.to_string())),
            Ok(Ok(None)) => Err(TalkError::Broke("it hung up".into())),
            Ok(Ok(Some(Answer::Failed { step, said }))) => Err(TalkError::Failed { step, said }),
            Ok(Ok(Some(answer))) => Ok(answer),
        }
    }

    /// Begins to listen.
    pub(crate) async fn subscribe(&mut self) -> Result<(), TalkError> {
        let said = say(&mut self.stream, &Request::Subscribe).await;
        said.map_err(|error| TalkError::Broke(error.to_string()))
    }

    /// What the agent tells next.
    pub(crate) async fn news(&mut self) -> Result<News, TalkError> {
        match hear(&mut self.stream).await {
            Ok(Some(Answer::News(news))) => Ok(news),
            Ok(Some(Answer::Failed { step, said })) => Err(TalkError::Failed { step, said }),
            Ok(Some(_)) => Err(TalkError::Broke("it answers what nobody asked".into())),
            Ok(None) => Err(TalkError::Broke("it hung up".into())),
            Err(error) => Err(TalkError::Broke(error.to_string())),
        }
    }
}

/// Says in plain words why one of the two does not believe the other, and what to do.
fn unproved(error: &io::Error) -> TalkError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(inner) = inner else {
        return TalkError::Broke(error.to_string());
    };
    TalkError::Unproved(match inner {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is not of our authority: use the folder of its authority, or enroll it \
             here"
                .into()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired: `ca rotate`, and bring it its folder".into(),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("it does not prove its name ({inner}): correct its address, or its identity"),
        rustls::Error::AlertReceived(alert) => refused_us(*alert),
        other => format!("it does not prove its name ({other})"),
    })
}

fn refused_us(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::UnknownCA => {
            "it is not of its authority: use the folder of its authority"
        }
        AlertDescription::CertificateExpired => "it has expired: `ca rotate`",
        AlertDescription::UnsupportedCertificate => {
            "only the certificate named `controller` may command an agent, and this one is a node's"
        }
        _ => "it is not believed",
    };
    format!("it refuses our certificate: {why} ({alert:?})")
}
