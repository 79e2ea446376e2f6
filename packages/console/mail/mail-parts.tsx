import type { SentMessage } from '@parley/client';
import { useConversation } from '@parley/client/react';
import type { Email, EmailRecipient } from '@parley/protocol/resources/email.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSeen } from '@parley/ui/hooks/seen.ts';
import { Mail } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { MailHtml } from './mail-html.tsx';
import { bareSubject, MAIL_WORDS, mailToneOf, whyOf } from './mail-words.ts';

export interface MailPartsProps {
  readonly message: SentMessage;
  readonly conversationId: string;
  /** The text and the files of the message. */
  readonly children: ComponentChildren;
}

/**
 * A message with the mail that carries it: above the text its subject where it changes, and its
 * ways; below, what became of it, and what the text leaves out.
 */
export function MailParts({ message, conversationId, children }: MailPartsProps) {
  const { box, mail, set, problem } = useMail(message);
  const { id, email_status: status } = message;
  const before = useMailBefore(conversationId, id);
  const subject = newSubject(before, mail?.subject ?? message.subject);
  const isSame = before !== undefined && hasSameWays(before, message);
  const isAwaited = mail === null && problem === '';
  return (
    <div ref={box} class="mail-parts">
      <div class="mail-head">
        {subject !== null && <p class="mail-subject">{subject}</p>}
        {mail !== null && <Ways mail={mail} isSame={isSame} />}
        {isAwaited && <AwaitedWays sender={message.sender} isSame={isSame} />}
      </div>
      {children}
      <div class="mail-foot">
        {status && <Delivery status={status} mail={mail} message={message} onChange={set} />}
        {/* Most mails that arrive have HTML, whose button has this height. */}
        {isAwaited && !status && (
          <span class="button mail-fold mail-awaited" aria-hidden="true">
            {texts.mail.source}
          </span>
        )}
        {mail !== null && mail.html !== null && (
          <MailHtml html={mail.html} files={(message.attachments ?? []).map(({ url }) => url)} />
        )}
        {mail !== null && <Omitted text={mail.omitted_text ?? ''} />}
        {mail?.source_url && (
          <a class="mail-source" href={mail.source_url} target="_blank" rel="noopener nofollow ugc">
            {texts.mail.source}
          </a>
        )}
      </div>
    </div>
  );
}

/** Returns the message of the mail before this one in the conversation; undefined if none is loaded. */
function useMailBefore(conversationId: string, id: string): SentMessage | undefined {
  const { messages } = useConversation(conversationId);
  const at = messages.findIndex((message) => message.id === id);
  return messages
    .slice(0, Math.max(0, at))
    .findLast((message): message is SentMessage => message.delivery === 'sent' && isMail(message));
}

/** A message of a chat that was mailed because it stayed unread: below, what became of the mail. */
export function MailedParts({ message, children }: Omit<MailPartsProps, 'conversationId'>) {
  const { box, mail, set } = useMail(message);
  const { email_status: status } = message;
  return (
    <div ref={box} class="mail-parts">
      {children}
      <div class="mail-foot">
        {status && <Delivery status={status} mail={mail} message={message} onChange={set} />}
      </div>
    </div>
  );
}

/** Returns the mail of a message, once its box is seen. */
function useMail({ id, email_status: version }: SentMessage) {
  const { client } = useSignedIn();
  const [box, isSeen] = useSeen<HTMLDivElement>();
  // Customers do not see the mail, and it may have been purged: then only the message remains.
  const {
    value: mail,
    set,
    problem,
  } = useResource(
    isSeen ? id : null,
    (signal) => client.fetch<Email>(`/v1/messaging/messages/${id}/email`, { signal }),
    { version },
  );
  return { box, mail, set, problem };
}

/** Returns whether a mail carries the message. */
export function isMail({ channel, kind }: Pick<SentMessage, 'channel' | 'kind'>): boolean {
  return channel === 'email' || kind === 'email';
}

/** Returns the subject if the mail before had another, and null if it is the same. */
function newSubject(before: SentMessage | undefined, subject: string | null): string | null {
  const known = before?.subject ?? null;
  if (subject === null || known === null) return subject;
  return bareSubject(known) === bareSubject(subject) ? null : subject;
}

/** Returns whether the mail before had the same sender and the same copies. */
function hasSameWays(before: SentMessage, { sender_id, kind, cc }: SentMessage): boolean {
  return before.sender_id === sender_id && before.kind === kind && String(before.cc) === String(cc);
}

interface WaysProps {
  readonly mail: Email;
  /** Whether the addresses are those of the mail before: they are folded then. */
  readonly isSame: boolean;
}

function Ways({ mail, isSame }: WaysProps) {
  const { direction, purpose, automatic, verdict, reason, protection } = mail;
  return (
    <div class="mail-ways">
      {isSame ? (
        <details>
          <summary>
            <Icon of={Mail} size={14} /> {texts.mail.sameAddresses}
          </summary>
          <Addresses mail={mail} />
        </details>
      ) : (
        <Addresses mail={mail} />
      )}
      {purpose === 'message' && automatic && <span class="mail-automatic">{texts.mail.automatic}</span>}
      {direction === 'in' && reason === 'unproven' && (
        <strong class="mail-forged">{texts.mail.unproven}</strong>
      )}
      {direction === 'in' && verdict?.result === 'fail' && (
        <strong class="mail-forged">{texts.mail.forged}</strong>
      )}
      {protection === 'signed' && <span>{texts.mail.signed}</span>}
    </div>
  );
}

/** Takes about the room of the ways of a mail that is being read, so that its text stays in place. */
function AwaitedWays({ sender, isSame }: Pick<SentMessage, 'sender'> & { readonly isSame: boolean }) {
  const address = sender?.handle ?? '';
  return (
    <div class="mail-ways mail-awaited" aria-hidden="true">
      {isSame ? (
        <span>{texts.mail.sameAddresses}</span>
      ) : (
        <>
          <span>{texts.mail.from(`${sender?.name} <${address}>`)}</span> <span>{texts.mail.to(address)}</span>
        </>
      )}
    </div>
  );
}

function Addresses({ mail: { from_name, from_address, recipients } }: { readonly mail: Email }) {
  const of = (kind: EmailRecipient['kind']) =>
    recipients.filter((one) => one.kind === kind).map(({ address }) => address);
  const from = [from_name, from_address && `<${from_address}>`].filter(Boolean).join(' ');
  const copies = of('cc');
  return (
    <>
      <span>
        <Icon of={Mail} size={14} /> {texts.mail.from(from)}
      </span>{' '}
      {of('to').length > 0 && <span>{texts.mail.to(of('to').join(', '))}</span>}{' '}
      {copies.length > 0 && <span>{texts.mail.copyTo(copies.join(', '))}</span>}
    </>
  );
}

interface DeliveryProps {
  readonly status: NonNullable<SentMessage['email_status']>;
  readonly mail: Email | null;
  readonly message: SentMessage;
  readonly onChange: (mail: Email) => void;
}

function Delivery({ status, mail, message, onChange }: DeliveryProps) {
  const { client, me, can } = useSignedIn();
  const { conversation } = useConversation(message.conversation_id ?? null);
  const { isBusy, problem, run } = useAction();
  const own = conversation?.participants?.find(({ actor_id }) => actor_id === me.actor.id);
  const isOver = status === 'bounced' || status === 'failed' || status === 'canceled';
  const mayResend = isOver && can('messaging:create') && own?.role !== 'viewer';
  const why = mail === null ? '' : whyOf(mail);
  const failed = (mail?.recipients ?? []).filter(
    (one) => one.status === 'bounced' || one.status === 'failed',
  );
  return (
    <div class="mail-delivery">
      <span class={`run-tone run-tone-${mailToneOf(status)}`}>{MAIL_WORDS[status]}</span>
      {why !== '' && <span>{texts.mail.because(why)}</span>}
      {failed.map(({ address, code }) => (
        <span key={address}>
          {address}
          {code && ` (${code})`}
        </span>
      ))}
      {mayResend && (
        <Button
          look="plain"
          disabled={isBusy}
          onClick={() =>
            run(async () => {
              const path = `/v1/messaging/messages/${message.id}/actions/resend`;
              onChange(await client.fetch<Email>(path, { method: 'POST', body: {} }));
            })
          }
        >
          {texts.mail.sendAgain}
        </Button>
      )}
      <Problem text={problem} />
    </div>
  );
}

/** The quotes, the signature and whatever else the message leaves out of its mail, behind a button. */
function Omitted({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text === '') return null;
  return (
    <>
      <Button class="mail-fold" look="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? texts.mail.hideRest : texts.mail.showRest}
      </Button>
      {isOpen && <div class="mail-folded">{text}</div>}
    </>
  );
}
