/**
 * The message that a node sends to all others every second: the last number of each channel whose
 * counter moved during the last `WINDOW` announcements.
 */
export interface Announcement {
  /** Starts at 1 and grows by one. */
  readonly serial: number;
  /** Whether the node stops: this is its last announcement. */
  readonly isLast: boolean;
  readonly channels: readonly AnnouncedChannel[];
}

export interface AnnouncedChannel {
  readonly channel: string;
  /** Grows when the channel's counter starts again. */
  readonly incarnation: number;
  /** The number before the window's first frame; 0 if the counter started within the window. */
  readonly before: number;
  /** When the broker accepted the window's first frame, in microseconds of its own clock. */
  readonly beganAtUs: number;
  readonly last: number;
  /** When the broker accepted frame `last`. */
  readonly lastAtUs: number;
  /**
   * The last frame that was sent before the announcement. The broker has not answered the frames
   * after `last`, so it is not known whether and when it accepted them.
   */
  readonly sent: number;
}

export const ANNOUNCE_EVERY_MS = 1_000;
/** Two announcements in a row may be lost: the next one still covers all frames since. */
export const WINDOW = 3;
/** A counter unused for this long is dropped; its next frame starts a new incarnation. */
export const COUNTER_MS = 60_000;

type Row = [string, number, number, number, number, number, number];

export function encodeAnnouncement({ serial, isLast, channels }: Announcement): Buffer {
  const rows = channels.map(
    (it): Row => [it.channel, it.incarnation, it.before, it.beganAtUs, it.last, it.lastAtUs, it.sent],
  );
  return Buffer.from(JSON.stringify([serial, isLast, rows]));
}

/** Throws on anything but an announcement. */
export function decodeAnnouncement(bytes: Buffer): Announcement {
  const [serial, isLast, rows]: [number, boolean, Row[]] = JSON.parse(bytes.toString());
  if (!Number.isSafeInteger(serial)) throw new RangeError('not an announcement');
  return {
    serial,
    isLast,
    channels: rows.map(([channel, incarnation, before, beganAtUs, last, lastAtUs, sent]) => ({
      channel,
      incarnation,
      before,
      beganAtUs,
      last,
      lastAtUs,
      sent,
    })),
  };
}
