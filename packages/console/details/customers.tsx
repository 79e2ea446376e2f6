import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Customer } from '@parley/protocol/resources/customer.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { Complained } from '../mail/complained.tsx';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Card } from './card.tsx';
import { Metadata } from './metadata.tsx';
import { PastCases } from './past-cases.tsx';
import type { Rights } from './rights.ts';
import { Section } from './section.tsx';

export interface CustomersProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** The customers of a case: their identity, and the application's data about them. */
export function Customers({ conversation: { id, participants, workflow_status }, rights }: CustomersProps) {
  const customers = (participants ?? []).filter(({ type }) => type === 'customer');
  return (
    <>
      <Section title={texts.details.customers(customers.length)}>
        {customers.map((participant) => (
          <CustomerFacts
            key={participant.id}
            conversationId={id}
            participant={participant}
            mayBlock={rights.mayWrite}
          />
        ))}
      </Section>
      {customers.map((participant) => (
        <Card key={participant.id} conversationId={id} participantId={participant.id} />
      ))}
      {customers.map(({ id: key, actor, actor_id }) => (
        <Section
          key={key}
          title={
            customers.length === 1 ? texts.details.otherCases : texts.details.otherCasesOf(actor?.name ?? '…')
          }
        >
          <PastCases
            customerId={actor_id ?? ''}
            except={id}
            version={workflow_status}
            none={texts.details.firstCase}
          />
        </Section>
      ))}
    </>
  );
}

interface CustomerFactsProps {
  readonly conversationId: string;
  readonly participant: Participant;
  readonly mayBlock: boolean;
}

function CustomerFacts({ conversationId, participant, mayBlock }: CustomerFactsProps) {
  const { actor, actor_id, metadata } = participant;
  const { client, can } = useSignedIn();
  const id = actor_id ?? '';
  const { isBusy, problem, run } = useAction();
  const { value, set } = useResource(id, async (signal) => {
    const customer = can('users:read')
      ? await client.fetch<Customer>(`/v1/customers/${id}`, { signal })
      : null;
    const isBlocked = customer?.blocked ?? (await isBlockedByTeam(client.conversations, id));
    return { customer, isBlocked };
  });
  const { customer = null, isBlocked = null } = value ?? {};
  const address = customer?.email ?? actor?.handle;
  const change = (block: boolean) =>
    run(async () => {
      await (block ? client.conversations.block(id) : client.conversations.unblock(id));
      set({ customer, isBlocked: block });
    });
  return (
    <dl class="customer">
      <dt>{texts.details.name}</dt>
      <dd>
        {customer === null ? (
          actor?.name
        ) : (
          <Link to={{ main: { at: 'administration', section: 'customers', id } }}>
            {customer.name ?? actor?.name ?? texts.details.nameless}
          </Link>
        )}
      </dd>
      {address && (
        <>
          <dt>{texts.details.email}</dt>
          <dd>
            <a href={`mailto:${address}`}>{address}</a>
          </dd>
          <Complained conversationId={conversationId} address={address} />
        </>
      )}
      {customer !== null && (
        <>
          <dt>{texts.details.firstSeen}</dt>
          <dd>{fullTimeOf(customer.created_at)}</dd>
        </>
      )}
      <Metadata
        externalId={customer?.external_id ?? null}
        metadata={{ ...customer?.metadata, ...metadata }}
      />
      {isBlocked && (
        <>
          <dt>{texts.details.blocked}</dt>
          <dd>{texts.details.onlyReads}</dd>
        </>
      )}
      {mayBlock && isBlocked !== null && (
        <dd class="customer-buttons">
          <Button disabled={isBusy} look={isBlocked ? 'plain' : 'danger'} onClick={() => change(!isBlocked)}>
            {isBlocked ? texts.details.unblock : texts.details.block}
          </Button>
          <Problem text={problem} />
        </dd>
      )}
    </dl>
  );
}

/** Looks for the customer in the list of blocks, for people who may not read customers. */
async function isBlockedByTeam(
  conversations: Pick<ReturnType<typeof useSignedIn>['client']['conversations'], 'blocks'>,
  id: string,
): Promise<boolean> {
  for await (const { data } of conversations.blocks()) {
    if (data.some(({ scope, actor }) => scope === 'account' && actor.id === id)) return true;
  }
  return false;
}
