//! Pages of memory that contain their number, and a compressor for them.
//!
//! A page is determined by its number, and different numbers give different pages. So any wrong
//! byte shows.

use super::random::Random;

/// Kinds of pages, in the low two bits of their number.
pub const SAME: u32 = 0;
pub const RUNS: u32 = 1;
pub const RANDOM: u32 = 2;
pub const HALF: u32 = 3;

/// Fills a page from its number.
pub fn make(number: u32, page: &mut [u8]) {
    let word = number.to_le_bytes();
    if number & 3 == SAME {
        page.chunks_exact_mut(4).for_each(|four| four.copy_from_slice(&word));
        return;
    }
    page[..4].copy_from_slice(&word);
    let mut random = Random::new(u64::from(number));
    let mut rest = &mut page[4..];
    if number & 3 == HALF {
        let half = rest.len() / 2;
        rest[half..].fill(0);
        rest = &mut rest[..half];
    }
    if number & 3 == RUNS {
        while !rest.is_empty() {
            let drawn = random.next();
            let run = (4 + drawn as usize % 60).min(rest.len());
            rest[..run].fill((drawn >> 32) as u8);
            rest = &mut rest[run..];
        }
    } else {
        for eight in rest.chunks_mut(8) {
            eight.copy_from_slice(&random.next().to_le_bytes()[..eight.len()]);
        }
    }
}

/// Returns the number that a page contains.
pub fn number(page: &[u8]) -> u32 {
    u32::from_le_bytes([page[0], page[1], page[2], page[3]])
}

/// Compresses by run lengths. A byte n below 128 precedes n + 1 literal bytes; another one precedes
/// a byte that is repeated n − 126 times. Returns `None` if `out` is too small.
pub fn compress(page: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut to = 0;
    let mut from = 0;
    while from < page.len() {
        let run = page[from..].iter().take(129).take_while(|byte| **byte == page[from]).count();
        if run >= 2 {
            let [length, value] = out.get_mut(to..to + 2)? else { return None };
            *length = (run + 126) as u8;
            *value = page[from];
            to += 2;
            from += run;
            continue;
        }
        let mut end = from + 1;
        while end < page.len() && end - from < 128 && page.get(end + 1) != Some(&page[end]) {
            end += 1;
        }
        let plain = end - from;
        *out.get_mut(to)? = (plain - 1) as u8;
        out.get_mut(to + 1..to + 1 + plain)?.copy_from_slice(&page[from..end]);
        to += 1 + plain;
        from = end;
    }
    Some(to)
}

/// Decompresses. Returns false if `data` is not exactly a page.
pub fn decompress(data: &[u8], page: &mut [u8]) -> bool {
    let (mut from, mut to) = (0, 0);
    while from < data.len() {
        let code = data[from] as usize;
        from += 1;
        let (taken, given) = if code < 128 { (code + 1, code + 1) } else { (1, code - 126) };
        let (Some(data), Some(page)) = (data.get(from..from + taken), page.get_mut(to..to + given))
        else {
            return false;
        };
        if code < 128 {
            page.copy_from_slice(data);
        } else {
            page.fill(data[0]);
        }
        from += taken;
        to += given;
    }
    to == page.len()
}

/// Returns the bytes that a store takes for a page, without its header.
pub fn stored_bytes(number: u32, page: &[u8], compressed: bool, scratch: &mut Vec<u8>) -> usize {
    if number & 3 == SAME {
        return 4;
    }
    scratch.resize(page.len(), 0);
    let packed = if compressed { compress(page, scratch) } else { None };
    if packed.is_none() {
        scratch.copy_from_slice(page);
    }
    let size = packed.unwrap_or(page.len());
    scratch.truncate(size);
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_pages_come_back() {
        let (mut page, mut out, mut back) = (vec![0; 512], vec![0; 1024], vec![0; 512]);
        for number in 4..4000 {
            make(number, &mut page);
            assert_eq!(super::number(&page), number);
            let size = compress(&page, &mut out).expect("the room is enough");
            assert!(decompress(&out[..size], &mut back));
            assert_eq!(page, back);
            assert!(compress(&page, &mut out[..size - 1]).is_none());
            assert!(!decompress(&out[..size - 1], &mut back));
        }
    }
}
