//! The three sizes of world in which everything is measured.

/// How large the measured world is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scale {
    /// The word for it.
    pub name: &'static str,
    /// GPUs of the fleet.
    pub gpus: u32,
    /// Tenants.
    pub tenants: u32,
    /// Jobs of all tenants.
    pub jobs: u32,
    /// Leaf switches.
    pub leaves: u32,
}

impl Scale {
    /// From small to large, each ten times the one before in every respect, so that cost
    /// divided by size tells whether it grows in line.
    pub const ALL: [Self; 3] = [Self::of("1k", 1), Self::of("10k", 10), Self::of("100k", 100)];

    const fn of(name: &'static str, times: u32) -> Self {
        Self {
            name,
            gpus: 1_024 * times,
            tenants: 10 * times,
            jobs: 100 * times,
            leaves: 4 * times,
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scale| scale.name == name)
    }
}
