// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs firmware of an RP2040 in rp2040js (npm) and streams every executed block (recorders/README.md,
// "Recorder stream").
//
//   node rp2040js.mjs --version
//   node rp2040js.mjs --pipe FD [OPTION]... FIRMWARE
//
//   --pipe FD          where the stream goes
//   --reads START-END  data reads that touch these addresses are told, too; may be there several times
//   --boot-rom FILE    the chip's ROM, as 16 KB or an ELF file; without it a call into it ends the run
//   --usb FILE         a host is on the USB port: it opens the serial port that the firmware has,
//                      sends a line of this file for each line that comes back, which it prints
//
// Each instruction is executed by itself, so that blocks end where the processor jumped or an
// exception was taken. rp2040js has one core, and no time but an instruction's cycles from RAM.

import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Semihosting } from './semihosting.mjs';
import { MAGIC, StreamWriter } from './stream.mjs';

const FLASH = 0x10000000;
const FLASH_END = 0x11000000;
const RAM = 0x20000000;
const RAM_END = 0x20042000;
const ROM_END = 0x4000;
// Type of an ELF section with symbols.
const SYMBOL_TABLE = 2;
const BOOT2_BYTES = 256;
// How one core starts the other, among what SIO has.
const FIFO_WR = 0x54;

// Instructions between two looks at signals, and halfwords of the longest block.
const SLICE = 200000;
const MAX_HALFWORDS = 4096;
const MOST_ASLEEP_NANOS = 60e9;

// The block at hand, with what it has read, and those that were described.
const blockReads = [];
const numbers = new Map();
let blockStart = 0;
let blockEnd = -1;
let instructions = 0;
let pc = 0;
let asleep = false;
let sleepsSince = 0;

function fail(message, code = 2) {
  endBlock();
  stream.flush();
  process.stderr.write(`rp2040js: ${message}\n`);
  process.exit(code);
}

function emulator() {
  const beside = join(dirname(process.execPath), '..', 'lib');
  for (const folder of [process.cwd(), beside, '/usr/local/lib', '/usr/lib', '/usr/share/nodejs']) {
    const require = createRequire(join(folder, 'none.js'));
    try {
      const found = require.resolve('rp2040js');
      const { version } = JSON.parse(readFileSync(found.replace(/dist.*$/, 'package.json'), 'utf8'));
      return { ...require('rp2040js'), version };
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  fail('the package rp2040js is not installed', 3);
}

let pipe = -1;

const stream = new StreamWriter((bytes) => {
  if (pipe < 0) return bytes.length;
  try {
    return writeSync(pipe, bytes);
  } catch (error) {
    // The reader has gone: it has as much as it asked for.
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  }
});

let secondCoreIsReported = false;

function reportSecondCore() {
  if (!secondCoreIsReported) stream.meta('left_out=the second core: rp2040js has one');
  secondCoreIsReported = true;
}

function isElf(file) {
  return file.length >= 52 && file.readUInt32BE(0) === 0x7f454c46;
}

// Return the address of a function by its name in an ELF file, or null.
function addressOf(name, file) {
  if (!isElf(file)) return null;
  const [at, size, count] = [file.readUInt32LE(32), file.readUInt16LE(46), file.readUInt16LE(48)];
  const field = (section, offset) => {
    const place = at + section * size + offset;
    return place + 4 <= file.length ? file.readUInt32LE(place) : 0;
  };
  for (let section = 0; section < count; section++) {
    if (field(section, 4) !== SYMBOL_TABLE) continue;
    const names = field(field(section, 24), 16);
    const end = Math.min(field(section, 16) + field(section, 20), file.length);
    for (let symbol = field(section, 16); symbol + 16 <= end; symbol += 16) {
      const start = names + file.readUInt32LE(symbol);
      if (file.toString('latin1', start, start + name.length + 1) === `${name}\0`) {
        return file.readUInt32LE(symbol + 4) & ~1;
      }
    }
  }
  return null;
}

// Give the pieces of a firmware file, as [address, bytes].
function* pieces(name, file) {
  if (isElf(file)) {
    if (file[4] !== 1 || file[5] !== 1 || file.readUInt16LE(18) !== 40) {
      fail(`${name}: is no ELF file for ARM`);
    }
    const at = file.readUInt32LE(28);
    for (let i = 0; i < file.readUInt16LE(44); i++) {
      const head = at + i * file.readUInt16LE(42);
      if (head + 32 > file.length) fail(`${name}: ends within its program headers`);
      const [type, offset, , address, bytes] = [0, 4, 8, 12, 16].map((n) =>
        file.readUInt32LE(head + n),
      );
      if (type === 1 && bytes > 0) {
        if (offset + bytes > file.length) fail(`${name}: ends within a segment`);
        yield [address, file.subarray(offset, offset + bytes)];
      }
    }
  } else if (file.length >= 512 && file.readUInt32LE(0) === 0x0a324655) {
    for (let at = 0; at + 512 <= file.length; at += 512) {
      // Blocks that are not for the flash are passed over, as the boot ROM does.
      const bytes = file.readUInt32LE(at + 16);
      if (bytes > 476) fail(`${name}: byte ${at}: a UF2 block of ${bytes} bytes (up to 476)`);
      if (!(file.readUInt32LE(at + 8) & 1)) {
        yield [file.readUInt32LE(at + 12), file.subarray(at + 32, at + 32 + bytes)];
      }
    }
  } else if (/^:[0-9A-Fa-f]{10}/.test(file.toString('latin1', 0, 11))) {
    yield* hexPieces(name, file.toString('latin1'));
  } else {
    yield [FLASH, file];
  }
}

// Give the pieces of an Intel HEX file.
function* hexPieces(name, text) {
  let base = 0;
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const bytes = Buffer.from(line.trim().slice(1), 'hex');
    const sum = bytes.reduce((all, byte) => all + byte, 0) & 255;
    if (line[0] !== ':' || bytes.length < 5 || bytes.length !== bytes[0] + 5 || sum !== 0) {
      fail(`${name}, line ${i + 1}: is damaged Intel HEX`);
    }
    const content = bytes.subarray(4, -1);
    if (bytes[3] === 0) yield [base + bytes.readUInt16BE(1), content];
    if (bytes[3] === 1) return;
    if (bytes[3] === 2) base = content.readUInt16BE(0) * 16;
    if (bytes[3] === 4) base = content.readUInt16BE(0) * 65536;
  }
}

// The address of the first section of an ELF file that lies in flash, or else in RAM; Infinity
// without sections. A segment may begin before, with the file's own headers.
function firstSection(file) {
  const isElf = file.length >= 52 && file.readUInt32BE(0) === 0x7f454c46;
  const [at, size, count] = isElf
    ? [file.readUInt32LE(32), file.readUInt16LE(46), file.readUInt16LE(48)]
    : [0, 0, 0];
  let [inFlash, inRam] = [Infinity, Infinity];
  for (let head = at; head < at + size * count && head + 24 <= file.length; head += size) {
    const [type, flags, address, bytes] = [4, 8, 12, 20].map((n) => file.readUInt32LE(head + n));
    // SHT_PROGBITS, SHF_ALLOC
    if (type !== 1 || !(flags & 2) || bytes === 0) continue;
    if (address >= FLASH && address < FLASH_END) inFlash = Math.min(inFlash, address);
    if (address >= RAM && address < RAM_END) inRam = Math.min(inRam, address);
  }
  return Math.min(inFlash, inRam);
}

// Load the firmware. Gives where it begins: in flash, or in RAM if nothing of it lies in flash.
function load(machine, name) {
  let loaded = 0;
  let [inFlash, inRam] = [Infinity, Infinity];
  const file = readFileSync(name);
  for (const [address, bytes] of pieces(name, file)) {
    if (address >= FLASH && address + bytes.length <= FLASH_END) {
      machine.flash.set(bytes, address - FLASH);
      inFlash = Math.min(inFlash, address);
    } else if (address >= RAM && address + bytes.length <= RAM_END) {
      machine.sram.set(bytes, address - RAM);
      inRam = Math.min(inRam, address);
    } else {
      fail(`${name}: ${bytes.length} bytes at 0x${address.toString(16)}, where an RP2040 has none`);
    }
    loaded += bytes.length;
  }
  if (loaded === 0) fail(`${name}: nothing to load`);
  const first = firstSection(file);
  if (first < Infinity) return first;
  return inFlash < Infinity ? inFlash : inRam;
}

// Whether flash begins with a second stage of booting, by its checksum. The ROM copies that to RAM
// and runs it; here the flash can be read from the beginning.
function hasSecondStage(flash) {
  let crc = 0xffffffff;
  for (let i = 0; i < BOOT2_BYTES - 4; i++) {
    crc ^= flash[i] << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  const told = new DataView(flash.buffer).getUint32(BOOT2_BYTES - 4, true);
  return crc >>> 0 === told;
}

const options = { reads: [], bootRom: null, usb: null };
const given = process.argv.slice(2);
let firmware = null;
while (given.length > 0) {
  const option = given.shift();
  if (!option.startsWith('--')) {
    if (firmware !== null) fail(`${option}: one firmware at a time`);
    firmware = option;
    continue;
  }
  if (option === '--version') {
    process.stdout.write(`${emulator().version}\n`);
    process.exit(0);
  }
  if (!['--pipe', '--reads', '--boot-rom', '--usb'].includes(option)) {
    fail(`${option}: unknown option (known: --boot-rom FILE, --usb FILE)`);
  }
  const value = given.shift();
  if (value === undefined) fail(`${option}: wants a value`);
  if (option === '--pipe') pipe = Number(value);
  if (option === '--reads') options.reads.push(value.split('-').map(Number));
  if (option === '--boot-rom') options.bootRom = value;
  if (option === '--usb') options.usb = value;
}
if (firmware === null) fail('no firmware');

const { RP2040, USBCDC, version } = emulator();
const machine = new RP2040();
const { core, clock } = machine;

// What the emulator cannot do is said once; what no processor would do ends the run.
const warned = new Set();
machine.logger = {
  debug() {},
  info() {},
  warn(where, message) {
    const line = `rp2040js: ${where}: ${message}\n`;
    if (warned.size < 20 && !warned.has(line)) {
      warned.add(line);
      process.stderr.write(line);
    }
  },
  error(where, message) {
    fail(`${where}: ${message}`, 1);
  },
};

function read(name) {
  try {
    return readFileSync(name);
  } catch (error) {
    return fail(`${name}: cannot be read (${error.code})`);
  }
}

// Return the 16 KB of the boot ROM, of a raw file or an ELF file.
function readRom(name) {
  const file = read(name);
  const rom = new Uint8Array(ROM_END);
  if (!isElf(file)) {
    if (file.length !== ROM_END) {
      fail(`${name}: ${file.length} bytes, and the ROM has 16384; it may be an ELF file, too`);
    }
    rom.set(file);
    return rom;
  }
  const parts = [...pieces(name, file)].filter(([address]) => address < ROM_END);
  if (!parts.some(([address]) => address === 0)) {
    fail(`${name}: has nothing at address 0, where the ROM lies`);
  }
  for (const [address, bytes] of parts) rom.set(bytes.subarray(0, ROM_END - address), address);
  return rom;
}

if (options.bootRom !== null) {
  machine.loadBootrom(new Uint32Array(readRom(options.bootRom).buffer));
}
const lowest = load(machine, firmware);
if (options.usb !== null) {
  const sent = read(options.usb);
  const host = new USBCDC(machine.usbCtrl);
  const endpointRead = machine.usbCtrl.onEndpointRead;
  let at = 0;
  // How much the firmware wants of each endpoint, until it is there.
  const wanted = new Map();
  const give = () => {
    const size = wanted.get(host.outEndpoint);
    if (size === undefined || host.txFIFO.empty) return;
    wanted.delete(host.outEndpoint);
    endpointRead(host.outEndpoint, size);
  };
  const sendLine = () => {
    const end = sent.indexOf(10, at) + 1 || sent.length;
    while (at < end) {
      if (host.txFIFO.full) fail(`${options.usb}: a line of more than ${host.txFIFO.size} bytes`);
      host.sendSerialByte(sent[at++]);
    }
    give();
  };
  machine.usbCtrl.onEndpointRead = (endpoint, size) => {
    wanted.set(endpoint, size);
    give();
  };
  host.onDeviceConnected = sendLine;
  host.onSerialData = (bytes) => {
    process.stdout.write(bytes);
    for (let i = bytes.indexOf(10); i >= 0; i = bytes.indexOf(10, i + 1)) sendLine();
  };
}
for (const uart of machine.uart) {
  uart.onByte = (byte) => process.stdout.write(Uint8Array.of(byte));
}

const writeSio = machine.sio.writeUint32.bind(machine.sio);
machine.sio.writeUint32 = (offset, value) => {
  if (offset === FIFO_WR) reportSecondCore();
  writeSio(offset, value);
};

// Without a second stage, the vectors are the first that the firmware has, wherever it is linked.
core.VTOR = hasSecondStage(machine.flash) ? FLASH + BOOT2_BYTES : lowest;
const stackTop = machine.readUint32(core.VTOR);
const start = machine.readUint32(core.VTOR + 4);
if (stackTop <= RAM || stackTop > RAM_END || !(start & 1)) {
  fail(`${firmware}: no vectors at 0x${core.VTOR.toString(16)}, where its first bytes are; a second stage there (256 bytes, as boot2 of the Pico SDK) ends with its checksum`);
}
core.SP = stackTop;
core.PC = start & ~1;

let exit = null;
const exitFunction = addressOf('_exit', read(firmware));
const semihosting = new Semihosting(machine, stackTop, () => clock.nanos);
machine.onBreak = (code) => {
  const [operation, argument] = core.registers;
  // A program of the Pico SDK ends so, when main returns or it panics, with its status in r0.
  if (code === 0 && pc === exitFunction) {
    exit = operation & 255;
    return;
  }
  if (code !== 0xab) fail(`breakpoint or undefined instruction at 0x${pc.toString(16)}`, 1);
  if (operation === 0x18) {
    exit = argument === 0x20026 ? 0 : 1;
  } else if (operation === 0x20) {
    exit = machine.readUint32(argument) === 0x20026 ? machine.readUint32(argument + 4) & 255 : 1;
  } else {
    const answer = semihosting.answer(operation, argument);
    if (answer === undefined) {
      fail(`asks for semihosting 0x${operation.toString(16)}, which is not answered here`, 1);
    }
    core.registers[0] = answer;
  }
};

// Data reads of the instruction at hand, as [address, bytes].
let loads = null;
if (options.reads.length > 0) {
  const lowest = Math.min(...options.reads.map(([start]) => start));
  const highest = Math.max(...options.reads.map(([, end]) => end));
  const watch = (name, bytes) => {
    const original = core[name].bind(core);
    core[name] = (address) => {
      if (loads !== null && address < highest && address + bytes > lowest) {
        loads.push([address >>> 0, bytes]);
      }
      return original(address);
    };
  };
  watch('readUint8', 1);
  watch('readUint16', 2);
  watch('readUint32', 4);
}

function endBlock() {
  if (instructions === 0) return;
  const key = blockStart * 2 * MAX_HALFWORDS + (blockEnd - blockStart) / 2;
  let number = numbers.get(key);
  if (number === undefined) {
    number = numbers.size;
    numbers.set(key, number);
    stream.block(blockStart, blockEnd - blockStart, instructions);
  }
  for (const [address, bytes, begun] of blockReads) stream.read(address, bytes, begun);
  blockReads.length = 0;
  stream.number(number);
  instructions = 0;
}

// Keep what the instruction has read, but for the words that it was fetched by; what adjoins of
// it is kept word by word, as QEMU tells it.
function keepReads(fetches) {
  for (const [address, bytes] of loads.slice(fetches)) {
    if (options.reads.some(([start, end]) => address < end && address + bytes > start)) {
      blockReads.push([address, bytes, blockEnd - blockStart]);
    }
  }
}

// Whether something is pending that would be taken now, were it not masked.
function wakes() {
  const now = core.exceptionPriority(core.IPSR);
  const pending = core.pendingInterrupts & core.enabledInterrupts;
  for (let priority = 0; priority < now; priority++) {
    if (pending & core.interruptPriorities[priority]) return true;
  }
  return (
    core.pendingNMI ||
    (core.pendingSystick && core.systickPriority < now) ||
    (core.pendingPendSV && core.pendSVPriority < now) ||
    (core.pendingSVCall && core.svCallPriority < now)
  );
}

// Let time pass until something wakes the processor; give whether it did so soon.
function sleep() {
  for (let i = 0; i < 1000; i++) {
    if (wakes()) {
      asleep = false;
      return true;
    }
    const nanos = clock.nanosToNextAlarm;
    if (clock.nextAlarm === null || clock.nanos + nanos > sleepsSince + MOST_ASLEEP_NANOS) {
      fail(`waits behind 0x${pc.toString(16)}, and nothing wakes it`, 1);
    }
    clock.tick(nanos);
  }
  return false;
}

function executeOne() {
  if (asleep && !sleep()) return;
  // Here rather than in the instruction, whose address is known then. Each taken exception lets
  // only more urgent ones follow.
  while (core.interruptsUpdated && core.checkForInterrupts());
  // It would leave the vector's Thumb bit there, and then count on from an odd address.
  core.PC &= ~1;
  pc = core.PC;
  if (!(pc >= FLASH && pc < FLASH_END) && !(pc >= RAM && pc < RAM_END)) {
    if (pc >= ROM_END) fail(`runs to 0x${pc.toString(16)}, where no code is`, 1);
    if (options.bootRom === null) {
      fail(
        'calls the boot ROM, as C programs of the Pico SDK do, and rp2040js has none: --system ' +
          "'rp2040js --boot-rom b2.elf' with that of Raspberry Pi " +
          '(curl -LO https://github.com/raspberrypi/pico-bootrom-rp2040/releases/download/b2/b2.elf)',
        1,
      );
    }
  }
  if (pc !== blockEnd || blockEnd - blockStart >= MAX_HALFWORDS) {
    endBlock();
    blockStart = pc;
  }
  const half = machine.readUint16(pc);
  const bytes = half >> 12 === 0xf || half >> 11 === 0x1d ? 4 : 2;
  blockEnd = pc + bytes;
  instructions++;
  if (options.reads.length > 0) loads = [];
  const cycles = core.executeInstruction();
  if (loads !== null) {
    // All that lies in the placed code is seen, so its fetches are.
    const fetched = loads.filter(([address], i) => i < bytes / 2 && address === pc + 2 * i).length;
    keepReads(fetched);
    loads = null;
  }
  if (((core.PC & ~1) >>> 0) !== blockEnd) {
    endBlock();
    blockEnd = -1;
  }
  clock.tick((cycles * 1e9) / machine.clkSys);
  // rp2040js would take an interrupt that is masked, and not wake for a SysTick.
  if (core.waiting) {
    core.waiting = false;
    asleep = true;
    sleepsSince = clock.nanos;
  }
}

function slice() {
  for (let i = 0; i < SLICE; i++) {
    executeOne();
    if (exit !== null) {
      endBlock();
      stream.end();
      stream.flush();
      process.exitCode = exit;
      return;
    }
  }
  stream.flush();
  setImmediate(slice);
}

for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15]]) {
  process.on(signal, () => {
    endBlock();
    stream.flush();
    process.exit(128 + number);
  });
}
if (pipe >= 0) writeSync(pipe, MAGIC);
stream.meta('recorder=rp2040js');
stream.meta('target=arm');
stream.meta('mode=system');
stream.meta('in_doubt=0');
slice();
