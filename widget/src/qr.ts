// The code of an admission, as a ticket mail shows it, too: a QR code (ISO/IEC 18004) of version 4 at error correction M,
// in alphanumeric mode. Every code has 78 characters, so version, level and the layout are the same for all. So is the
// mask: it is the checkerboard, which breaks up what texts of this form have in common.

// The polynomial whose roots are the first 18 powers of 2 in the field of the code, from its highest term on.
const generator = [1, 239, 251, 183, 113, 149, 175, 199, 215, 240, 220, 73, 82, 173, 75, 32, 67, 217, 146]

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
  layout(bitsOf(code)).forEach((row, y) => {
    for (const run of row.join('').matchAll(/1+/g)) {
      path += `M${run.index + quiet} ${y + quiet}h${run[0].length}v1h-${run[0].length}z`
    }
  })
  return path
}

/** Returns the bits of a code: mode, length, text, end and padding, as two blocks in turn, each with its check bytes. */
function bitsOf(code: string): string {
  const values = [...code].map((letter) => (letter === '-' ? 41 : letter === ':' ? 44 : parseInt(letter, 36)))
  let bits = '0010' + binary(values.length, 9)
  for (let i = 0; i < values.length; i += 2) bits += binary(values[i]! * 45 + values[i + 1]!, 11)
  bits += '000000' + '1110110000010001'.repeat(4)
  const bytes = bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2))
  const second = withCheck(bytes.splice(dataBytes))
  return withCheck(bytes).map((byte, i) => binary(byte, 8) + binary(second[i]!, 8)).join('')
}

/** Returns a block and its check bytes: the remainder by the generator of Reed and Solomon. */
function withCheck(block: number[]): number[] {
  const rest = [...block, ...Array<number>(checkBytes).fill(0)]
  block.forEach((_, i) => {
    const factor = rest[i]!
    generator.forEach((g, j) => (rest[i + j]! ^= times(g, factor)))
  })
  return [...block, ...rest.slice(dataBytes)]
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
  const modules: number[][] = []
  const put = (x: number, y: number, black: number | boolean) => {
    const row = (modules[y] ??= [])
    row[x] = +black // What is white at -1 or at the size is not seen.
  }
  const rings = (x: number, y: number, radius: number, whites: number[]) => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) {
        put(x + dx, y + dy, !whites.includes(Math.max(Math.abs(dx), Math.abs(dy))))
      }
    }
  }
  for (let i = 0; i < size; i++) {
    put(i, 6, i % 2 < 1)
    put(6, i, i % 2 < 1)
  }
  rings(3, 3, 4, [2, 4])
  rings(size - 4, 3, 4, [2, 4])
  rings(3, size - 4, 4, [2, 4])
  rings(size - 7, size - 7, 2, [1])

  for (let i = 0; i < 15; i++) {
    const black = (format >> i) & 1
    put(i < 8 ? size - 1 - i : i < 9 ? 7 : 14 - i, 8, black)
    put(8, i < 6 ? i : i < 8 ? i + 1 : size - 15 + i, black)
  }
  put(8, size - 8, 1)

  let next = 0
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--
    for (let i = 0; i < size; i++) {
      const y = up ? size - 1 - i : i
      for (const x of [right, right - 1]) {
        if (modules[y]?.[x] === undefined) put(x, y, (bits[next++] === '1') === (x + y) % 2 > 0)
      }
    }
  }
  return modules
}
