//! Digests: CRC32C (RFC 3720), little-endian (TCP transport, 3.3.1.1).

use crc_fast::{CrcAlgorithm, checksum};

/// Returns the digest of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    #[test]
    fn test_vectors_of_rfc_3720() {
        let ascending: [u8; 32] = core::array::from_fn(|at| at as u8);
        assert_eq!(super::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(super::crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(super::crc32c(&ascending), 0x46dd_794e);
    }
}
