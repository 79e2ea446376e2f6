import { Header } from '../mime/header.ts';
import type { Complaint } from '../parsed-mail.ts';
import { originalRfcIdOf, type ReportParts } from './delivery-report.ts';

/** Reads a report of RFC 5965. Returns null if the mail has none. */
export function readComplaint(header: Header, parts: ReportParts): Complaint | null {
  const fields = new Header(parts.status);
  const kind = /^[a-z][a-z0-9-]{0,40}/.exec((fields.raw('feedback-type') ?? '').toLowerCase())?.[0];
  if (kind === undefined) return null;
  const addresses = fields.mailboxes('original-rcpt-to').map(({ address }) => address);
  return { kind, addresses, originalRfcId: originalRfcIdOf(header, parts) };
}
