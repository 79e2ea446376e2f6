/** Limits of customers' uploads (docs/contract.md#attachments). */
export const CUSTOMER_UPLOADS = {
  /** The largest file. */
  bytes: 10 * 1024 * 1024,
  /** Most uploads of one customer that no message has yet, within FILE_URL_S. */
  open: 10,
  /** The most that a visitor of a widget uploads in 24 hours. */
  visitorBytesADay: 100 * 1024 * 1024,
} as const;
