// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes the recorder stream of recorders/README.md ("Recorder stream"): the records that a recorder
// of firmware needs. recorders/stream/vectors.json has their bytes.

export const MAGIC = 'FPSTRM01';

const RECORD_FLAG = 0x80000000;
const META = 1;
const BLOCK = 3;
const END = 4;
const READ = 10;

export class StreamWriter {
  #words = new Uint32Array(16384);
  #used = 0;
  #write;

  // `write` takes bytes and returns how many of them it has written.
  constructor(write) {
    this.#write = write;
  }

  // Writes what is collected.
  flush() {
    let bytes = new Uint8Array(this.#words.buffer, 0, this.#used * 4);
    this.#used = 0;
    while (bytes.length > 0) bytes = bytes.subarray(this.#write(bytes));
  }

  // Appends the number of an executed block.
  number(number) {
    this.#put(number);
  }

  // Appends a META record; `text` is `key=value`.
  meta(text) {
    const bytes = Buffer.from(text);
    this.#begin(META, bytes.length);
    const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
    for (let i = 0; i < padded.length; i += 4) this.#put(padded.readUInt32LE(i));
  }

  // Describes the block with the next number.
  block(address, size, instructions) {
    this.#record(BLOCK, [...wide(address), size, instructions]);
  }

  // Appends a data read of the block whose number comes next: `begun` bytes of that block end
  // with the instruction that reads.
  read(address, size, begun) {
    this.#record(READ, [...wide(address), size, begun]);
  }

  // Appends the record of a program's end.
  end() {
    this.#record(END, []);
  }

  #put(word) {
    if (this.#used === this.#words.length) this.flush();
    this.#words[this.#used++] = word;
  }

  #begin(kind, bytes) {
    this.#put((RECORD_FLAG | (kind << 24) | bytes) >>> 0);
  }

  #record(kind, payload) {
    this.#begin(kind, payload.length * 4);
    for (const word of payload) this.#put(word);
  }
}

// The two words of a number of 64 bits.
function wide(number) {
  return [number >>> 0, Math.floor(number / 2 ** 32)];
}
