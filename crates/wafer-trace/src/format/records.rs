//! Records of `wafer.capture/1` (docs/reference/capture-format.md): 24 bytes each, little-endian.
//!
//! Each namespace is a volume. Placement identifiers are as recorded. Changes to the drive itself
//! (namespaces created or deleted, FDP switched) are ignored; the data of a deleted namespace is
//! recorded as deallocated.

use wafer_interface::{Op, Placement};
use wafer_record::capture::RECORD_BYTES;

use crate::decode::{Decoded, Decoder, SECTOR, checked};
use crate::request::Request;

#[derive(Default)]
pub(crate) struct Records {
    clock: u64,
    /// Volume index of each namespace number, once named.
    volumes: Vec<Option<u32>>,
}

impl Decoder for Records {
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize {
        let records = input.chunks_exact(RECORD_BYTES);
        let rest = records.remainder().len();
        self.volumes.resize(256, None);
        for record in records {
            out.position += 1;
            let lba = u64::from_le_bytes(std::array::from_fn(|i| record[i]));
            let blocks = u32::from_le_bytes(std::array::from_fn(|i| record[8 + i]));
            let placement = Placement(u16::from_le_bytes([record[12], record[13]]));
            let delta = u32::from_le_bytes(std::array::from_fn(|i| record[16 + i]));
            self.clock = self.clock.saturating_add(u64::from(delta));
            let op = match (record[14], Op::from_code(record[14])) {
                (_, Some(op)) => op,
                (16..=19, _) => continue,
                (255, _) => {
                    self.clock = self.clock.saturating_add(lba);
                    continue;
                }
                _ => {
                    out.faults.add(out.position, "unknown kind of record");
                    continue;
                }
            };
            let namespace = record[15];
            let known = &mut self.volumes[usize::from(namespace)];
            let volume = match *known {
                Some(volume) => volume,
                None => {
                    let volume =
                        out.names.volume((u32::from(namespace) + 1).to_string().as_bytes());
                    *known = Some(volume);
                    volume
                }
            };
            let request = match lba.checked_mul(SECTOR) {
                _ if !op.has_range() => Ok(Some(Request::new(op, self.clock, 0, 0))),
                Some(offset) => {
                    checked(Request::new(op, self.clock, offset, u64::from(blocks) * SECTOR))
                }
                None => Err("an address of more than 2^64 bytes"),
            };
            match request {
                Ok(Some(request)) => out.requests.push(Request { volume, placement, ..request }),
                Ok(None) => {}
                Err(reason) => out.faults.add(out.position, reason),
            }
        }
        if last && rest > 0 {
            out.position += 1;
            out.faults.add(out.position, "the record is cut short");
            return input.len();
        }
        input.len() - rest
    }
}
