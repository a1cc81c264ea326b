//! Compressed sections.
//!
//! A section header says how long its data will be, and may lie: memory is
//! taken as data comes out, never on the header's word.

use object::CompressionFormat;
use object::read::CompressedData;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The uncompressed data, if it is intact and as long as it claims to be.
pub(crate) fn decompress(section: &CompressedData<'_>) -> Option<Vec<u8>> {
    let size = usize::try_from(section.uncompressed_size).ok()?;
    let data = match section.format {
        CompressionFormat::Zlib => zlib(section.data, size)?,
        CompressionFormat::Zstandard => zstd(section.data, size)?,
        _ => return None,
    };
    (data.len() == size).then_some(data)
}

fn zlib(data: &[u8], size: usize) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, size).ok()
}

fn zstd(mut data: &[u8], size: usize) -> Option<Vec<u8>> {
    const STEP: usize = 1 << 20;

    let mut decoder = FrameDecoder::new();
    decoder.init(&mut data).ok()?;
    let mut out = Vec::new();
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBytes(STEP);
        decoder.decode_blocks(&mut data, step).ok()?;
        out.extend(decoder.collect().unwrap_or_default());
        if out.len() > size {
            return None;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"hound hound hound hound hound hound hound hound hound";

    fn section(format: CompressionFormat, data: &[u8], size: usize) -> CompressedData<'_> {
        let uncompressed_size = size as u64;
        CompressedData {
            format,
            data,
            uncompressed_size,
        }
    }

    fn both_formats() -> [(CompressionFormat, Vec<u8>); 2] {
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(TEXT, 6);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(TEXT, level);
        [
            (CompressionFormat::Zlib, zlib),
            (CompressionFormat::Zstandard, zstd),
        ]
    }

    #[test]
    fn comes_out_as_it_went_in() {
        for (format, data) in both_formats() {
            let out = decompress(&section(format, &data, TEXT.len()));
            assert_eq!(out.as_deref(), Some(TEXT), "{format:?}");
        }
    }

    #[test]
    fn a_size_that_lies_gives_nothing() {
        for (format, data) in both_formats() {
            for size in [0, TEXT.len() - 1, TEXT.len() + 1, usize::MAX] {
                assert_eq!(
                    decompress(&section(format, &data, size)),
                    None,
                    "{format:?} {size}"
                );
            }
        }
    }

    #[test]
    fn damage_gives_nothing_or_other_data() {
        for (format, data) in both_formats() {
            for i in 0..data.len() {
                decompress(&section(format, &data[..i], TEXT.len()));
                for bit in 0..8 {
                    let mut damaged = data.clone();
                    damaged[i] ^= 1 << bit;
                    decompress(&section(format, &damaged, TEXT.len()));
                }
            }
        }
    }
}
