import type { List } from '@parley/protocol/lists.ts';
import type { EmailComplaint } from '@parley/protocol/resources/email-complaint.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../session/session-context.tsx';

const PATH = '/v1/messaging/email-complaints';

/** Says that no reply is sent to an address since its owner has complained, and lifts that. */
export function Complained({ address }: { readonly address: string }) {
  const { client, can } = useSignedIn();
  const { isBusy, problem, run } = useAction();
  const { value, set } = useResource(can('inboxes:read') ? address : null, async (signal) => {
    const query = new URLSearchParams({ q: address, limit: '100' });
    const { data } = await client.fetch<List<EmailComplaint>>(`${PATH}?${query}`, { signal });
    return data.filter((one) => one.address === address.toLowerCase());
  });
  const [complaint] = value ?? [];
  if (complaint === undefined) return null;
  const lift = () =>
    run(async () => {
      await client.fetch(`${PATH}/${complaint.id}`, { method: 'DELETE' });
      set([]);
    });
  return (
    <dd class="customer-buttons">
      <strong>No mail is sent to this address: its owner has called a mail spam.</strong>
      {can('inboxes:update') && (
        <Button disabled={isBusy} look="plain" onClick={lift}>
          Send mail again
        </Button>
      )}
      <Problem text={problem} />
    </dd>
  );
}
