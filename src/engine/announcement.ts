/**
 * What a node says every second of the frames that it published: how far the counter of each channel is that moved
 * during the last `WINDOW` announcements. A receiver that is behind has lost frames, also where no later frame shows
 * the gap.
 */
export interface Announcement {
  /** From 1, each one more. */
  readonly serial: number;
  /** The last one: the node stops. */
  readonly isLast: boolean;
  readonly channels: readonly AnnouncedChannel[];
}

export interface AnnouncedChannel {
  readonly channel: string;
  /** Grows when a channel's counter begins anew. */
  readonly incarnation: number;
  /** The number in front of the window's first frame; 0: the counter began within the window. */
  readonly before: number;
  /** When the broker took the window's first frame, in microseconds of its own clock. */
  readonly beganAtUs: number;
  readonly last: number;
  /** When the broker took frame `last`. */
  readonly lastAtUs: number;
  /**
   * The last frame that left in front of the announcement. The broker has not answered those behind `last`: when it took
   * them, or whether it did, is not known.
   */
  readonly sent: number;
}

export const ANNOUNCE_EVERY_MS = 1_000;
/** Up to two announcements in a row may be lost, and the next one still covers all frames since. */
export const WINDOW = 3;
/** A counter that is not used for so long is dropped, and begins anew under another incarnation. */
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
    // A node of an older version does not say what it has sent.
    channels: rows.map(([channel, incarnation, before, beganAtUs, last, lastAtUs, sent = last]) => ({
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
