/** The facts of a mail beside its bytes. */
export interface Envelope {
  readonly transport: 'http' | 'smtp' | 'lmtp' | 'imap';
  /**
   * The sender of the envelope, which bounces go to; '' for a mail that must not be answered. Null
   * if it is not known.
   */
  readonly sender: string | null;
  /** The recipients of the envelope. Null if they are not known: the headers name them. */
  readonly recipients: readonly string[] | null;
  /** The machine that handed the mail over, where this server itself is the MX of the domain. */
  readonly client: { readonly address: string; readonly helo: string } | null;
}
