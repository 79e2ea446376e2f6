/**
 * Exif is a file of the format TIFF. Of it a picture keeps how it is turned, since browsers turn it
 * by that (orientation, 1 to 8, of which 1 is upright).
 */

/** A segment of a JPEG has no more, so no camera writes more. */
export const MOST_EXIF_BYTES = 65_535;

const ORIENTATION = 0x0112;
const SHORT = 3;
const ENTRY_BYTES = 12;

/**
 * Returns Exif with nothing but the orientation of this one; null if that is upright or unknown.
 */
export function orientationAlone(exif: Buffer): Buffer | null {
  const orientation = orientationOf(exif);
  const alone = Buffer.from('4d4d002a00000008000101120003000000010000000000000000', 'hex');
  // A picture never grows.
  if (orientation < 2 || orientation > 8 || exif.length < alone.length) return null;
  alone.writeUInt16BE(orientation, 18);
  return alone;
}

/** Returns the orientation, or 0 if Exif does not say it. */
function orientationOf(exif: Buffer): number {
  const order = exif.toString('latin1', 0, 4);
  if (order !== 'MM\0*' && order !== 'II*\0') return 0;
  const isBig = order === 'MM\0*';
  const short = (at: number) =>
    at + 2 > exif.length ? 0 : isBig ? exif.readUInt16BE(at) : exif.readUInt16LE(at);
  if (exif.length < 8) return 0;
  const directory = isBig ? exif.readUInt32BE(4) : exif.readUInt32LE(4);
  const entries = short(directory);
  for (let entry = 0; entry < entries; entry += 1) {
    const at = directory + 2 + entry * ENTRY_BYTES;
    if (at + ENTRY_BYTES > exif.length) return 0;
    if (short(at) === ORIENTATION) return short(at + 2) === SHORT ? short(at + 8) : 0;
  }
  return 0;
}
