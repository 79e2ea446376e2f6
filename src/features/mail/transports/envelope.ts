/** The facts about a mail that are not in its bytes. */
export interface Envelope {
  readonly transport: 'http' | 'smtp' | 'lmtp' | 'imap';
  /** The sender of the envelope; '' for mail that must not be answered, null if unknown. */
  readonly sender: string | null;
  /** The recipients of the envelope, or null if only the headers name them. */
  readonly recipients: readonly string[] | null;
  /** The client that delivered the mail, if this server itself is the MX of the domain. */
  readonly client: { readonly address: string; readonly helo: string } | null;
}
