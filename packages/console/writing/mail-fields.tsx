import type { ConversationEmail } from '@parley/protocol/resources/email.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

/** Returns how mail of a case travels; null until it was read, and for other conversations. */
export function useConversationEmail(conversationId: string, isOn: boolean): ConversationEmail | null {
  const { client } = useSignedIn();
  const path = `/v1/messaging/conversations/${conversationId}/email`;
  // The mail is sent without it too: the server completes it.
  return useResource(isOn ? path : null, (signal) => client.fetch<ConversationEmail>(path, { signal })).value;
}

export interface MailFieldsProps {
  /** The recipients of the mail; null where they are unknown or not chosen. */
  readonly to: readonly string[] | null;
  readonly subject: string;
  readonly cc: string;
  readonly onChange: (change: { readonly subject?: string; readonly cc?: string }) => void;
}

/** The fields of a mail beside its text. */
export function MailFields({ to, subject, cc, onChange }: MailFieldsProps) {
  return (
    <div class="mail-fields">
      {to !== null && (
        <p class="mail-fields-to">
          <span>{texts.writing.to}</span> {to.join(', ')}
        </p>
      )}
      <label>
        <span>{texts.writing.subject}</span>
        <input
          value={subject}
          maxLength={998}
          onInput={({ currentTarget }) => onChange({ subject: currentTarget.value })}
        />
      </label>
      <label>
        <span>{texts.writing.copies}</span>
        <input
          type="email"
          multiple
          value={cc}
          placeholder={texts.writing.copiesExample}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange({ cc: currentTarget.value })}
        />
      </label>
    </div>
  );
}
