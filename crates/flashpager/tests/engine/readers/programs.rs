//! ELF files.

use super::*;

/// A 64-bit little-endian ELF file with these sections (name, type, bytes).
fn elf_of(sections: &[(&str, u32, &[u8])]) -> Vec<u8> {
    const STRTAB: u32 = 3;
    let mut names = vec![0];
    let mut starts = Vec::new();
    for (name, _, _) in sections {
        starts.push(names.len() as u32);
        names.extend(name.bytes().chain([0]));
    }
    let bodies = sections.iter().map(|(_, kind, bytes)| (*kind, *bytes)).chain([(STRTAB, &*names)]);
    let (mut body, mut headers) = (Vec::new(), vec![0; 64]);
    for ((kind, bytes), start) in bodies.zip(starts.into_iter().chain([0])) {
        let offset = 64 + body.len() as u64;
        headers.extend(words(&[start, kind]));
        for value in [6, 0x1000 + offset, offset, bytes.len() as u64, 0, 16, 0] {
            headers.extend(value.to_le_bytes());
        }
        body.extend_from_slice(bytes);
    }
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable for x86-64, of version 1.
    file.extend(words(&[2 | 62 << 16, 1]));
    for value in [0, 0, 64 + body.len() as u64] {
        file.extend(value.to_le_bytes());
    }
    let count = sections.len() as u16 + 2;
    for value in [0, 0, 64, 56, 0, 64, count, count - 1] {
        file.extend(value.to_le_bytes());
    }
    file.extend(body);
    file.extend(headers);
    file
}

#[test]
fn the_text_of_an_elf_file_is_placed() {
    let data = elf_of(&[(".init", 1, b"1234"), (".text", 1, b"12345678")]);
    let image = place(&data).unwrap();
    assert_eq!((image.offset, image.bytes, image.sections.len()), (0, 8, 1));
    assert_eq!(image.sections[0].address, 0x1000 + 64 + 4);
}

#[test]
fn an_elf_file_without_text_is_refused() {
    let data = elf_of(&[(".data\n\u{1b}[2J", 1, b"1234"), (".text", 8, b"")]);
    assert_says(place(&data), &["a.elf: has no section .text", ".data", "--section"]);
    let empty = elf_of(&[]);
    assert_says(place(&empty), &["has no section .text"]);
}

#[test]
fn a_section_beyond_the_end_of_the_file_is_refused() {
    let mut data = elf_of(&[(".text", 1, b"12345678")]);
    let headers = u64::from_le_bytes(data[40..48].try_into().unwrap()) as usize;
    let size = headers + 64 + 32;
    assert_eq!(data[size], 8);
    for bytes in [1u64 << 20, 1 << 33, u64::MAX] {
        data[size..size + 8].copy_from_slice(&bytes.to_le_bytes());
        assert_says(place(&data), &["a.elf", ".text", "beyond the end of the file"]);
    }
}

#[test]
fn an_incomplete_elf_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.elf");
    let read = |path: &Path| Placer::new(PlacementOptions::text_of(path.to_owned()));
    assert_says(read(&path), &["a.elf", "No such file"]);
    assert_says(read(folder.path()), &["is no ELF program"]);
    let data = elf_of(&[(".init", 1, b"1234"), (".text", 1, b"12345678")]);
    for end in 0..data.len() {
        std::fs::write(&path, &data[..end]).unwrap();
        assert_says(read(&path), &["a.elf: "]);
    }
    for at in 0..data.len() * 8 {
        let mut damaged = data.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        if let Err(error) = place(&damaged) {
            message(Err::<(), _>(error));
        }
    }
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    assert_says(read(&path), &["a.elf: is no ELF file"]);
}
