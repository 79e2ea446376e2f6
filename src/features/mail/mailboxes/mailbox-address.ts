import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import { INBOX_LIMITS } from '@parley/protocol/resources/inbox.ts';

/** The domains in which inboxes may have addresses. */
export interface MailboxDomains {
  /** In lower case. For an empty list see `isAny`. */
  readonly domains: readonly string[];
  /**
   * Whether an empty list allows every domain. False if strangers can register accounts, because
   * they could send mail in any name.
   */
  readonly isAny: boolean;
}

const PARAM = 'address';

/** Returns the address in its stored form. Throws ApiError `validation_failed`. */
export function readMailboxAddress(text: string, { domains, isAny }: MailboxDomains): string {
  const address = text.toLowerCase();
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (local.length > INBOX_LIMITS.localCharacters) {
    throw invalid(PARAM, `The part before the @ can have ${INBOX_LIMITS.localCharacters} characters.`);
  }
  if (local.includes('+')) {
    throw invalid(PARAM, 'Leave out the + and what follows it: mail to such addresses arrives as well.');
  }
  if (domains.length === 0 && !isAny) {
    throw invalid(
      PARAM,
      'This deployment has no domains for inboxes. Its operator sets PARLEY_MAIL_DOMAINS.',
    );
  }
  if (domains.length > 0 && !domains.includes(domain)) {
    throw invalid(PARAM, `The address must be of one of these domains: ${domains.join(', ')}.`);
  }
  return address;
}

/** Returns the error for an address that an inbox of any account already has. */
export function addressTaken(): ApiError {
  const message = 'Another inbox has this address. Choose another one, or delete that inbox first.';
  return new ApiError('resource_exists', message, { param: PARAM });
}

/** Returns an address without its `+` tag, because mail to it arrives in the same inbox. */
export function withoutTag(address: string): string {
  return address.replace(/\+[^@]*@/, '@');
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
