import type { ConversationEmail } from '@parley/protocol/resources/email.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

export interface ComplainedProps {
  readonly conversationId: string;
  readonly address: string;
}

/** Says that no reply is sent to an address since its owner has complained, and lifts that. */
export function Complained({ conversationId, address }: ComplainedProps) {
  const { client, can } = useSignedIn();
  const { isBusy, problem, run } = useAction();
  const path = `/v1/messaging/conversations/${conversationId}/email`;
  const { value, reload } = useResource(path, (signal) => client.fetch<ConversationEmail>(path, { signal }));
  const complaint = value?.complaints?.find((one) => one.address === address.toLowerCase());
  if (complaint === undefined) return null;
  const lift = () =>
    run(async () => {
      await client.fetch(`/v1/messaging/email-complaints/${complaint.id}`, { method: 'DELETE' });
      await reload();
    });
  return (
    <dd class="customer-buttons">
      <strong>{texts.mail.complained}</strong>
      {can('inboxes:update') && (
        <Button disabled={isBusy} look="plain" onClick={lift}>
          {texts.mail.lift}
        </Button>
      )}
      <Problem text={problem} />
    </dd>
  );
}
