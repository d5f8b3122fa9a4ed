//! The calls of NVIDIA's management library, each with memory that lives until it returns.
//!
//! Nothing else is here, because nothing else may be unsafe. A call that the library does not have
//! is an answer and no panic: the generated methods of the binding would panic, so that they are
//! not used.
#![allow(unsafe_code, reason = "a C library that is loaded at run time has no other door")]

use std::ffi::{CStr, c_char, c_uint};
use std::mem;
use std::path::Path;

use nvml_wrapper_sys::bindings as c;

/// Why the library does not say something.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Failure {
    /// It cannot be loaded: which file, and what the system says.
    Unloadable(String),
    /// It has no such call.
    Lacks(&'static str),
    /// The call ended with this code, which the library puts into these words.
    Refused(&'static str, u32, String),
}

/// A library that was loaded and takes questions. It is told when there are no more.
pub(super) struct Session {
    library: c::NvmlLib,
}

/// Asks, and looks at the code that came back.
///
/// SAFETY: the types of all arguments are those of the header. Handles are of this session, because
/// they borrow it, and it is not closed before it is dropped. Pointers are to memory of the caller,
/// who passes its length where the call takes one.
macro_rules! ask {
    ($session:expr, $call:ident($($argument:expr),*)) => {{
        let function = $session.library.$call.as_ref().ok();
        let code = function.map(|function| unsafe { function($($argument),*) });
        $session.judge(stringify!($call), code)
    }};
}

impl Session {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        // SAFETY: loading runs what the library does when it starts. The caller vouches for the
        // path: it is where the node's own driver is installed, and only root can write there.
        let library = unsafe { c::NvmlLib::new(path) };
        let library = library.map_err(|error| Failure::Unloadable(error.to_string()))?;
        // If it refuses to start, being told to stop does it no harm.
        let session = Self { library };
        ask!(session, nvmlInit_v2())?;
        Ok(session)
    }

    pub(super) fn driver(&self) -> Result<String, Failure> {
        let mut version = [0; c::NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE as usize];
        let length = version.len() as c_uint;
        ask!(self, nvmlSystemGetDriverVersion(version.as_mut_ptr(), length))?;
        Ok(text(&version))
    }

    pub(super) fn count(&self) -> Result<u32, Failure> {
        let mut count = 0;
        ask!(self, nvmlDeviceGetCount_v2(&raw mut count))?;
        Ok(count)
    }

    pub(super) fn device(&self, index: u32) -> Result<Device<'_>, Failure> {
        let mut handle = std::ptr::null_mut();
        ask!(self, nvmlDeviceGetHandleByIndex_v2(index, &raw mut handle))?;
        Ok(Device { session: self, handle })
    }

    /// What the library says a code means.
    pub(super) fn words(&self, code: u32) -> String {
        let Ok(function) = &self.library.nvmlErrorString else {
            return "it has no words for that".to_owned();
        };
        // SAFETY: it takes any number.
        let said = unsafe { function(code) };
        if said.is_null() {
            return "it has no words for that".to_owned();
        }
        // SAFETY: what comes back is a constant of the library, which is loaded for as long as
        // this is borrowed, and ends with a zero.
        unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
    }

    fn judge(&self, call: &'static str, code: Option<u32>) -> Result<(), Failure> {
        match code {
            None => Err(Failure::Lacks(call)),
            Some(c::nvmlReturn_enum_NVML_SUCCESS) => Ok(()),
            Some(code) => Err(Failure::Refused(call, code, self.words(code))),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // There is nobody to tell that it did not work, and nothing that follows.
        let _ = ask!(self, nvmlShutdown());
    }
}

/// A GPU.
pub(super) struct Device<'a> {
    session: &'a Session,
    handle: c::nvmlDevice_t,
}

/// A way to cut a GPU.
pub(super) struct Profile {
    pub(super) id: u32,
    pub(super) name: String,
    /// How many instances of it there can be.
    pub(super) most: u32,
}

/// Where an instance lies.
pub(super) struct Placed {
    pub(super) id: u32,
    pub(super) start: u32,
    pub(super) size: u32,
}

/// How joining the fabric went.
pub(super) struct Joining {
    pub(super) state: u32,
    pub(super) status: u32,
    pub(super) cluster: [u8; 16],
    pub(super) clique: u32,
}

impl Device<'_> {
    /// As the library writes it: `00000000:1B:00.0`.
    pub(super) fn bus_id(&self) -> Result<String, Failure> {
        let mut pci: c::nvmlPciInfo_t = blank();
        ask!(self.session, nvmlDeviceGetPciInfo_v3(self.handle, &raw mut pci))?;
        Ok(text(&pci.busId))
    }

    pub(super) fn uuid(&self) -> Result<String, Failure> {
        let mut uuid = [0; c::NVML_DEVICE_UUID_V2_BUFFER_SIZE as usize];
        let length = uuid.len() as c_uint;
        ask!(self.session, nvmlDeviceGetUUID(self.handle, uuid.as_mut_ptr(), length))?;
        Ok(text(&uuid))
    }

    pub(super) fn module(&self) -> Result<u32, Failure> {
        let mut module = 0;
        ask!(self.session, nvmlDeviceGetModuleId(self.handle, &raw mut module))?;
        Ok(module)
    }

    /// Whether it can be cut as it is now.
    pub(super) fn mig_is_on(&self) -> Result<bool, Failure> {
        let (mut current, mut pending) = (0, 0);
        let session = self.session;
        ask!(session, nvmlDeviceGetMigMode(self.handle, &raw mut current, &raw mut pending))?;
        Ok(current != 0)
    }

    /// The profile with this number in the header.
    pub(super) fn profile(&self, number: u32) -> Result<Profile, Failure> {
        let mut info: c::nvmlGpuInstanceProfileInfo_v2_t = blank();
        info.version = version::<c::nvmlGpuInstanceProfileInfo_v2_t>(2);
        let session = self.session;
        ask!(session, nvmlDeviceGetGpuInstanceProfileInfoV(self.handle, number, &raw mut info))?;
        Ok(Profile { id: info.id, name: text(&info.name), most: info.instanceCount })
    }

    /// The instances with this profile.
    pub(super) fn instances(&self, profile: &Profile) -> Result<Vec<Placed>, Failure> {
        // The call fills in what there is, however long the memory; it can be no more than this.
        let mut handles = vec![std::ptr::null_mut(); profile.most as usize];
        let mut count = profile.most;
        let session = self.session;
        ask!(
            session,
            nvmlDeviceGetGpuInstances(
                self.handle,
                profile.id,
                handles.as_mut_ptr(),
                &raw mut count
            )
        )?;
        handles.into_iter().take(count as usize).map(|handle| self.placed(handle)).collect()
    }

    fn placed(&self, handle: c::nvmlGpuInstance_t) -> Result<Placed, Failure> {
        let mut info: c::nvmlGpuInstanceInfo_t = blank();
        ask!(self.session, nvmlGpuInstanceGetInfo(handle, &raw mut info))?;
        Ok(Placed { id: info.id, start: info.placement.start, size: info.placement.size })
    }

    pub(super) fn link_is_active(&self, link: u32) -> Result<bool, Failure> {
        let mut state = 0;
        ask!(self.session, nvmlDeviceGetNvLinkState(self.handle, link, &raw mut state))?;
        Ok(state == c::nvmlEnableState_enum_NVML_FEATURE_ENABLED)
    }

    pub(super) fn fabric(&self) -> Result<Joining, Failure> {
        // The second version has all that is needed, drivers have had it for longer, and the
        // third begins with the same.
        let mut info: c::nvmlGpuFabricInfoV_t = blank();
        info.version = version::<c::nvmlGpuFabricInfo_v2_t>(2);
        ask!(self.session, nvmlDeviceGetGpuFabricInfoV(self.handle, &raw mut info))?;
        Ok(Joining {
            state: info.state.into(),
            status: info.status,
            cluster: info.clusterUuid,
            clique: info.cliqueId,
        })
    }
}

/// Structs of numbers and of pointers that are only handed back.
trait Plain {}

impl Plain for c::nvmlPciInfo_t {}
impl Plain for c::nvmlGpuInstanceProfileInfo_v2_t {}
impl Plain for c::nvmlGpuInstanceInfo_t {}
impl Plain for c::nvmlGpuFabricInfoV_t {}

fn blank<T: Plain>() -> T {
    // SAFETY: zeros are a value of every number and every raw pointer.
    unsafe { mem::zeroed() }
}

/// How the library is told which version of a struct it gets: the version above its size.
fn version<T>(number: u32) -> u32 {
    mem::size_of::<T>() as u32 | number << 24
}

/// What stands before the first zero.
fn text(letters: &[c_char]) -> String {
    let bytes: Vec<u8> =
        letters.iter().map(|&letter| letter as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
