//! Below which leaves each tenant is, answered with a look at one or two words.

use model::SwitchId;

use super::people::TenantKey;

/// Below which leaf switches each tenant is. A tenant's bits lie side by side, so that one who
/// must stay away from it learns of all leaves with a look at one or two places.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    bits: Vec<u64>,
    words_each: usize,
}

impl Presence {
    pub(crate) fn new(tenants: usize, switches: usize) -> Self {
        let words_each = switches.div_ceil(64);
        Self { bits: vec![0; tenants * words_each], words_each }
    }

    /// Makes room for more tenants, who are nowhere yet.
    pub(crate) fn grow(&mut self, tenants: usize) {
        self.bits.resize(tenants * self.words_each, 0);
    }

    pub(crate) fn is_below(&self, key: TenantKey, switch: SwitchId) -> bool {
        self.bits[self.word(key, switch)] & bit(switch) != 0
    }

    pub(crate) fn comes(&mut self, key: TenantKey, switch: SwitchId) {
        let word = self.word(key, switch);
        self.bits[word] |= bit(switch);
    }

    pub(crate) fn goes(&mut self, key: TenantKey, switch: SwitchId) {
        let word = self.word(key, switch);
        self.bits[word] &= !bit(switch);
    }

    fn word(&self, key: TenantKey, switch: SwitchId) -> usize {
        key.index() * self.words_each + switch.index() / 64
    }
}

const fn bit(switch: SwitchId) -> u64 {
    1 << (switch.0 % 64)
}
