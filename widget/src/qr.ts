// The code of an admission, as a ticket mail shows it, too: a QR code (ISO/IEC 18004) of version 4 at error correction M,
// in alphanumeric mode. Every code has 78 characters, so version, level and the layout are the same for all. So is the
// mask: it is the checkerboard, which breaks up what texts of this form have in common.

// The polynomial whose roots are the first 18 powers of 2 in the field of the code, from its highest term on.
const generator = [1, 239, 251, 183, 113, 149, 175, 199, 215, 240, 220, 73, 82, 173, 75, 32, 67, 217, 146]

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:'
const size = 33 // modules
const quiet = 4 // white modules around the code
const dataBytes = 32 // of each of the two blocks
const checkBytes = 18
const format = 0x5412 // level M with mask 0, with its check bits

/** Returns the text that a gate scans. */
export function admissionCode(eventId: string, admissionId: string): string {
  return `SVC1:${eventId}:${admissionId}`.toUpperCase()
}

/** The size of a drawn code, with its quiet zone, in modules. */
export const codeSize = size + 2 * quiet

/** Returns the path of a code's black modules. */
export function codePath(code: string): string {
  let path = ''
  layout(interleave(dataOf(code))).forEach((row, y) => {
    for (const run of row.join('').matchAll(/1+/g)) {
      path += `M${run.index + quiet} ${y + quiet}h${run[0].length}v1h-${run[0].length}z`
    }
  })
  return path
}

/** Returns the bytes of both blocks: mode, length, text, end and padding. */
function dataOf(code: string): number[] {
  let bits = '0010' + binary(code.length, 9)
  for (let i = 0; i < code.length; i += 2) {
    const first = alphabet.indexOf(code.charAt(i))
    bits += i + 1 < code.length ? binary(first * 45 + alphabet.indexOf(code.charAt(i + 1)), 11) : binary(first, 6)
  }
  bits += '0000'
  bits += '0'.repeat(-bits.length & 7)
  const bytes = bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2))
  for (let pad = 0xec; bytes.length < 2 * dataBytes; pad ^= 0xec ^ 0x11) bytes.push(pad)
  return bytes
}

/** Returns the bits of both blocks in turn, each followed by its check bytes. */
function interleave(bytes: number[]): string {
  const blocks = [bytes.slice(0, dataBytes), bytes.slice(dataBytes)]
  const checks = blocks.map(checkOf)
  let bits = ''
  for (const [parts, length] of [[blocks, dataBytes], [checks, checkBytes]] as const) {
    for (let i = 0; i < length; i++) for (const part of parts) bits += binary(part[i]!, 8)
  }
  return bits
}

/** Returns the check bytes of a block: the remainder by the generator of Reed and Solomon. */
function checkOf(block: number[]): number[] {
  const rest = [...block, ...Array<number>(checkBytes).fill(0)]
  for (let i = 0; i < block.length; i++) {
    const factor = rest[i]!
    generator.forEach((g, j) => (rest[i + j]! ^= times(g, factor)))
  }
  return rest.slice(block.length)
}

/** Multiplies in the field of 256 elements of QR codes. */
function times(a: number, b: number): number {
  let product = 0
  for (; b; b >>= 1, a = (a << 1) ^ (a & 0x80 ? 0x11d : 0)) if (b & 1) product ^= a
  return product
}

function binary(value: number, digits: number): string {
  return value.toString(2).padStart(digits, '0')
}

/** Returns the modules, row by row: the patterns, the format, and the bits under the mask. 1 is black. */
function layout(bits: string): number[][] {
  const modules = Array.from({ length: size }, () => Array<number>(size).fill(-1))
  const put = (x: number, y: number, black: unknown) => {
    const row = modules[y]
    if (row && x >= 0 && x < size) row[x] = black ? 1 : 0
  }
  const rings = (x: number, y: number, radius: number, whites: number[]) => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) {
        put(x + dx, y + dy, !whites.includes(Math.max(Math.abs(dx), Math.abs(dy))))
      }
    }
  }
  for (let i = 0; i < size; i++) {
    put(i, 6, i % 2 === 0)
    put(6, i, i % 2 === 0)
  }
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) rings(x, y, 4, [2, 4])
  rings(size - 7, size - 7, 2, [1])

  for (let i = 0; i < 15; i++) {
    const black = (format >> i) & 1
    put(i < 8 ? size - 1 - i : i === 8 ? 7 : 14 - i, 8, black)
    put(8, i < 6 ? i : i < 8 ? i + 1 : size - 15 + i, black)
  }
  put(8, size - 8, 1)

  let next = 0
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--
    for (let i = 0; i < size; i++) {
      const y = up ? size - 1 - i : i
      for (const x of [right, right - 1]) {
        if (modules[y]![x] === -1) put(x, y, (bits[next++] === '1') === ((x + y) % 2 > 0))
      }
    }
  }
  return modules
}
