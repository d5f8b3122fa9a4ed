//! What tenants, jobs, devices and VRFs can be called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One name: lower-case letters, digits and hyphens, at most 63, as DNS labels are (RFC 1123).
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "SmolStr", into = "SmolStr")]
pub struct Name(SmolStr);

/// A tenant in its tree: names joined by slashes, such as `acme/research`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "SmolStr", into = "SmolStr")]
pub struct TenantName(SmolStr);

/// A job of a tenant. Written as one path: `acme/research/train`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct JobName {
    /// Whose job it is.
    pub tenant: TenantName,
    /// What the tenant calls it.
    pub name: Name,
}

/// A VRF as a device calls it. Anything a device may hold, so nothing is checked here.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VrfName(pub SmolStr);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TenantName {
    /// How deep a tree of tenants may be.
    pub const DEEPEST: usize = 5;

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tenant above, unless this is a root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.into()))
    }

    /// This tenant and all above it, nearest first.
    pub fn lineage(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }
}

impl FromStr for Name {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        if is_label(text) { Ok(Self(text.into())) } else { Err(NotAName(text.into())) }
    }
}

impl FromStr for TenantName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        if text.split('/').count() <= Self::DEEPEST && text.split('/').all(is_label) {
            Ok(Self(text.into()))
        } else {
            Err(NotAName(text.into()))
        }
    }
}

impl FromStr for JobName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let (tenant, name) = text.rsplit_once('/').ok_or_else(|| NotAName(text.into()))?;
        Ok(Self { tenant: tenant.parse()?, name: name.parse()? })
    }
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&byte| plain(byte) || byte == b'-')
        && bytes.first().is_some_and(|&byte| plain(byte))
        && bytes.last().is_some_and(|&byte| plain(byte))
}

macro_rules! text_like {
    ($($name:ty),*) => {$(
        impl TryFrom<SmolStr> for $name {
            type Error = NotAName;

            fn try_from(text: SmolStr) -> Result<Self, NotAName> {
                text.parse()
            }
        }

        impl From<$name> for SmolStr {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )*};
}

text_like!(Name, TenantName);

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.name)
    }
}

impl fmt::Display for VrfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The text is no name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotAName(SmolStr);

impl fmt::Display for NotAName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no name: use lower-case letters, digits and inner hyphens, at most 63 \
             (a tenant path at most {} levels deep)",
            self.0,
            TenantName::DEEPEST
        )
    }
}

impl std::error::Error for NotAName {}
