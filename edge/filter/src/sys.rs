//! The few calls of bpf(2) that the loader library does not offer: a policy's block is one map
//! value whose size is chosen when the filter is loaded.
//!
//! The only unsafe code of this room. Each call gives the kernel a block of arguments and memory
//! that lives until the call returns.
#![allow(unsafe_code, reason = "bpf(2) has no safe door for values without a fixed type")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Commands and numbers of linux/bpf.h.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const OBJ_PIN: libc::c_long = 6;
const OBJ_GET: libc::c_long = 7;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_DETACH: libc::c_long = 34;
const ARRAY: u32 = 2;
const ARRAY_OF_MAPS: u32 = 12;
const MMAPABLE: u32 = 1 << 10;

/// An array with one value of this size, aligned to a page.
pub(crate) fn create_block(bytes: u32) -> io::Result<OwnedFd> {
    create(&[ARRAY, 4, bytes, 1, MMAPABLE])
}

/// An array with one pointer to a block like this one.
pub(crate) fn create_pointer(block: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    create(&[ARRAY_OF_MAPS, 4, 4, 1, 0, block.as_raw_fd().cast_unsigned()])
}

fn create(numbers: &[u32]) -> io::Result<OwnedFd> {
    let mut arguments = Arguments::default();
    for (place, number) in numbers.iter().enumerate() {
        arguments.put_u32(place * 4, *number);
    }
    let descriptor = call(MAP_CREATE, &mut arguments)?;
    // SAFETY: the kernel gave this descriptor to us just now, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Writes the one value of a block. Shorter bytes are followed by zeros.
pub(crate) fn write_block(block: BorrowedFd<'_>, bytes: &[u8], size: u32) -> io::Result<()> {
    let mut value = vec![0_u8; size as usize];
    let Some(begin) = value.get_mut(..bytes.len()) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the policy is larger than its block",
        ));
    };
    begin.copy_from_slice(bytes);
    element(MAP_UPDATE_ELEM, block, value.as_mut_ptr()).map(drop)
}

/// Reads the one value of a block, which is as long as the kernel says.
pub(crate) fn read_block(block: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut value = vec![0_u8; about(block)?.value_bytes() as usize];
    element(MAP_LOOKUP_ELEM, block, value.as_mut_ptr())?;
    Ok(value)
}

/// Reads the one value of a block that is a number.
pub(crate) fn read_number(block: BorrowedFd<'_>) -> io::Result<u32> {
    let bytes = read_block(block)?;
    let no_number = || io::Error::new(io::ErrorKind::InvalidData, "the map holds no number");
    bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)).ok_or_else(no_number)
}

/// Lets the pointer point to this block. When this returns, no packet is judged by the one before.
pub(crate) fn point(pointer: BorrowedFd<'_>, block: BorrowedFd<'_>) -> io::Result<()> {
    let mut descriptor = block.as_raw_fd().to_ne_bytes();
    element(MAP_UPDATE_ELEM, pointer, descriptor.as_mut_ptr()).map(drop)
}

/// The block the pointer points to.
pub(crate) fn pointed(pointer: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut id = [0_u8; 4];
    match element(MAP_LOOKUP_ELEM, pointer, id.as_mut_ptr()) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        other => other?,
    };
    let mut arguments = Arguments::default();
    arguments.put_u32(0, u32::from_ne_bytes(id));
    let descriptor = call(MAP_GET_FD_BY_ID, &mut arguments)?;
    // SAFETY: the kernel gave this descriptor to us just now, and to nobody else.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Gives a map a name in the BPF file system, so that it outlives this process.
pub(crate) fn pin(map: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut arguments = Arguments::default();
    arguments.put_u64(0, path.as_ptr() as u64);
    arguments.put_u32(8, map.as_raw_fd().cast_unsigned());
    call(OBJ_PIN, &mut arguments).map(drop)
}

/// What the kernel says about a link, a program or a map: the first bytes of `bpf_link_info`,
/// `bpf_prog_info` and `bpf_map_info`.
pub(crate) struct About([u8; 32]);

impl About {
    /// The number of a program or a map.
    pub(crate) fn own_number(&self) -> u32 {
        self.u32_at(4)
    }

    /// The number of the program that a link leads to.
    pub(crate) fn program(&self) -> u32 {
        self.u32_at(8)
    }

    /// How many bytes a value of a map has.
    fn value_bytes(&self) -> u32 {
        self.u32_at(12)
    }

    /// The interface that a link stands at; 0 if it is gone.
    pub(crate) fn interface(&self) -> u32 {
        self.u32_at(16)
    }

    fn u32_at(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_ne_bytes(bytes)
    }
}

/// What the kernel says about what has this name in the BPF file system.
pub(crate) fn about_named(path: &Path) -> io::Result<About> {
    about(named(path)?.as_fd())
}

/// What the kernel says about this link, program or map.
pub(crate) fn about(object: BorrowedFd<'_>) -> io::Result<About> {
    let mut about = About([0; 32]);
    let mut arguments = Arguments::default();
    arguments.put_u32(0, object.as_raw_fd().cast_unsigned());
    arguments.put_u32(4, about.0.len() as u32); // 32
    arguments.put_u64(8, about.0.as_mut_ptr() as u64);
    call(OBJ_GET_INFO_BY_FD, &mut arguments)?;
    Ok(about)
}

/// Takes a link's program off its interface. When this returns, it is off; the name stays.
pub(crate) fn detach(path: &Path) -> io::Result<()> {
    let link = named(path)?;
    let mut arguments = Arguments::default();
    arguments.put_u32(0, link.as_raw_fd().cast_unsigned());
    call(LINK_DETACH, &mut arguments).map(drop)
}

/// What has this name in the BPF file system.
pub(crate) fn named(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut arguments = Arguments::default();
    arguments.put_u64(0, path.as_ptr() as u64);
    let descriptor = call(OBJ_GET, &mut arguments)?;
    // SAFETY: the kernel gave this descriptor to us just now, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Reads or writes the element with key 0; `value` points to as many bytes as the map's value has.
fn element(command: libc::c_long, map: BorrowedFd<'_>, value: *mut u8) -> io::Result<i32> {
    let key = 0_u32;
    let mut arguments = Arguments::default();
    arguments.put_u32(0, map.as_raw_fd().cast_unsigned());
    arguments.put_u64(8, &raw const key as u64);
    arguments.put_u64(16, value as u64);
    call(command, &mut arguments)
}

/// What bpf(2) is told: a union, of which all fields used here end before byte 120.
#[repr(C, align(8))]
struct Arguments([u8; 120]);

impl Default for Arguments {
    fn default() -> Self {
        Self([0; 120])
    }
}

impl Arguments {
    fn put_u32(&mut self, at: usize, number: u32) {
        self.0[at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }

    fn put_u64(&mut self, at: usize, number: u64) {
        self.0[at..at + 8].copy_from_slice(&number.to_ne_bytes());
    }
}

fn call(command: libc::c_long, arguments: &mut Arguments) -> io::Result<i32> {
    // SAFETY: the arguments are as long as we say, and every pointer in them was made by the caller
    // from memory that lives longer than this call.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut arguments.0, arguments.0.len()) };
    match i32::try_from(answer) {
        Ok(answer) if answer >= 0 => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}
