/**
 * How the lines of a mail end. Lines of old Macs end with CR alone, and some programs write CR CR
 * LF. In other mails a CR alone ends no line.
 */
type LineEnd = 'usual' | 'cr' | 'cr-cr-lf';

/**
 * Returns how lines end, once the beginning of a mail says it: before the first LF are no two CR,
 * or the first empty line, or two CR at the end of the first line. Undefined means that more is
 * needed, which it never is where `isWhole`.
 */
export function lineEndOf(begun: Buffer, isWhole: boolean): LineEnd | undefined {
  const first = begun.subarray(0, MAX_BYTES);
  const firstLf = first.indexOf(LF);
  const blank = first.subarray(0, firstLf === -1 ? first.length : firstLf).indexOf('\r\r');
  if (blank !== -1 && blank + 2 === firstLf) return 'cr-cr-lf';
  if (blank !== -1 && blank + 2 < first.length) return 'cr';
  if (firstLf !== -1 || first.length === MAX_BYTES) return 'usual';
  return isWhole ? 'cr' : undefined;
}

/** Makes the line ends of a mail the usual ones. */
export class UsualLines {
  #lineEnd: LineEnd | undefined;
  #isAfterCr = false;

  /** Returns whether it can begin, as `lineEndOf` says. */
  canBegin(begun: Buffer, isWhole: boolean): boolean {
    this.#lineEnd ??= lineEndOf(begun, isWhole);
    return this.#lineEnd !== undefined;
  }

  /** Changes the next bytes of the mail in their place, and returns how many they are then. */
  change(bytes: Buffer): number {
    if (this.#lineEnd === 'usual') return bytes.length;
    let length = 0;
    for (const byte of bytes) {
      const isAfterCr = this.#isAfterCr;
      this.#isAfterCr = byte === CR;
      if (this.#lineEnd === 'cr-cr-lf') {
        if (byte !== CR) bytes[length++] = byte;
      } else if (byte !== LF || !isAfterCr) bytes[length++] = byte === CR ? LF : byte;
    }
    return length;
  }
}

const [LF, CR] = [0x0a, 0x0d];
/** Bytes of the beginning of a mail. Its first line is shorter. */
const MAX_BYTES = 64 * 1024;
