// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The calls of Arm's semihosting ("Semihosting for AArch32 and AArch64", Arm) that a C library
// makes, such as newlib's rdimon: files, the console, the clock, and where heap and stack lie.

import {
  closeSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';

const FAILED = 0xffffffff;
// The modes of OPEN: r, r+, w, w+, a, a+, each also with b.
const MODES = ['r', 'r+', 'w', 'w+', 'a', 'a+'];
const CONSOLE = ':tt';
const ENOENT = 2;

// `stackTop` is the address where the stack begins; `nanos` returns the time since the start.
export class Semihosting {
  #machine;
  #stackTop;
  #nanos;
  // Open files by handle less one: the descriptor, and the place in the file (null for a console).
  #files = [];
  #errno = 0;

  constructor(machine, stackTop, nanos) {
    this.#machine = machine;
    this.#stackTop = stackTop;
    this.#nanos = nanos;
  }

  // Answers a call: what it returns, or undefined if it is not known.
  answer(operation, argument) {
    const machine = this.#machine;
    const word = (i) => machine.readUint32(argument + 4 * i);
    switch (operation) {
      case 0x01:
        return this.#open(this.#text(word(0), word(2)), word(1));
      case 0x02:
        return this.#close(word(0));
      case 0x03:
        process.stdout.write(Uint8Array.of(machine.readUint8(argument)));
        return 0;
      case 0x04:
        process.stdout.write(this.#string(argument));
        return 0;
      case 0x05:
        return this.#write(word(0), word(1), word(2));
      case 0x06:
        return this.#read(word(0), word(1), word(2));
      case 0x07:
        return this.#readCharacter();
      case 0x08:
        return (word(0) | 0) < 0 ? 1 : 0;
      case 0x09:
        return this.#files[word(0) - 1]?.at === null ? 1 : 0;
      case 0x0a:
        return this.#seek(word(0), word(1));
      case 0x0c:
        return this.#tried(() => fstatSync(this.#files[word(0) - 1].descriptor).size);
      case 0x0e:
        return this.#tried(() => unlinkSync(this.#text(word(0), word(1))));
      case 0x0f:
        return this.#tried(() => {
          renameSync(this.#text(word(0), word(1)), this.#text(word(2), word(3)));
        });
      case 0x10:
        return Math.floor(this.#nanos() / 1e7);
      case 0x11:
        // The same in every run.
        return Math.floor(this.#nanos() / 1e9);
      case 0x13:
        return this.#errno;
      case 0x15:
        return FAILED;
      case 0x16:
        // Zero stands for an unknown address, for which the C library takes its own.
        [0, 0, this.#stackTop, 0].forEach((value, i) => machine.writeUint32(word(0) + 4 * i, value));
        return 0;
      default:
        return undefined;
    }
  }

  #tried(action) {
    try {
      return action() ?? 0;
    } catch (error) {
      this.#errno = Math.abs(error.errno ?? ENOENT);
      return FAILED;
    }
  }

  #string(address) {
    let end = address;
    while (this.#machine.readUint8(end) !== 0) end++;
    return this.#bytes(address, end - address);
  }

  #bytes(address, count) {
    return Uint8Array.from({ length: count }, (_, i) => this.#machine.readUint8(address + i));
  }

  #text(address, count) {
    return Buffer.from(this.#bytes(address, count)).toString();
  }

  #open(name, mode) {
    let file;
    if (name === CONSOLE) {
      file = { descriptor: mode < 4 ? 0 : mode < 8 ? 1 : 2, at: null };
    } else {
      const opened = this.#tried(() => ({ descriptor: openSync(name, MODES[mode >> 1]), at: 0 }));
      if (opened === FAILED) return FAILED;
      file = opened;
      if (mode >= 8) file.at = fstatSync(file.descriptor).size;
    }
    return this.#files.push(file);
  }

  #close(handle) {
    const file = this.#files[handle - 1];
    if (file === undefined) return FAILED;
    delete this.#files[handle - 1];
    return file.at === null ? 0 : this.#tried(() => closeSync(file.descriptor));
  }

  // Returns how many bytes were not written.
  #write(handle, address, count) {
    const file = this.#files[handle - 1];
    if (file === undefined) return count;
    const bytes = this.#bytes(address, count);
    if (file.at === null) {
      (file.descriptor === 2 ? process.stderr : process.stdout).write(bytes);
      return 0;
    }
    const written = this.#tried(() => writeSync(file.descriptor, bytes, 0, count, file.at));
    if (written === FAILED) return count;
    file.at += written;
    return count - written;
  }

  // Returns how many bytes were not read.
  #read(handle, address, count) {
    const file = this.#files[handle - 1];
    if (file === undefined) return count;
    const bytes = Buffer.alloc(count);
    const read = this.#tried(() => readSync(file.descriptor, bytes, 0, count, file.at));
    if (read === FAILED) return count;
    if (file.at !== null) file.at += read;
    for (let i = 0; i < read; i++) this.#machine.writeUint8(address + i, bytes[i]);
    return count - read;
  }

  #readCharacter() {
    const one = Buffer.alloc(1);
    const read = this.#tried(() => readSync(0, one, 0, 1, null));
    return read === 1 ? one[0] : FAILED;
  }

  #seek(handle, at) {
    const file = this.#files[handle - 1];
    if (file === undefined || file.at === null) return FAILED;
    file.at = at;
    return 0;
  }
}
