import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { usePages } from '@parley/ui/hooks/pages.ts';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { excerptOf } from './excerpt.ts';

export interface PastCasesProps {
  /** The actor id of the customer. */
  readonly customerId: string;
  /** The case that the person looks at, which is left out. */
  readonly except?: string;
  /** A new version says that the cases have changed. */
  readonly version?: unknown;
  /** Stands in place of an empty list. */
  readonly none: string;
}

/** The cases of a customer that the person may read, newest first. */
export function PastCases({ customerId, except, version, none }: PastCasesProps) {
  const { client } = useSignedIn();
  const query = new URLSearchParams({ customer_id: customerId, audience: 'customer', limit: '6' });
  query.append('include[]', 'last_message');
  const cases = usePages(
    `/v1/messaging/conversations?${query}`,
    (path, signal) => client.fetch<List<Conversation>>(path, { signal }),
    { version },
  );
  const others = cases.items?.filter(({ id }) => id !== except);
  return (
    <>
      {others?.length === 0 && !cases.hasMore && <p class="section-empty">{none}</p>}
      <ul class="past-cases">
        {others?.map((one) => (
          <li key={one.id}>
            <Link class="past-cases-link" to={{ main: { at: 'conversation', id: one.id } }}>
              <span class="past-cases-title">{titleOf(one)}</span>
              <small>
                {one.workflow_status !== null && `${texts.inbox.lanes[one.workflow_status]} · `}
                <time dateTime={one.created_at} title={fullTimeOf(one.created_at)}>
                  {shortTimeOf(one.created_at)}
                </time>
              </small>
            </Link>
          </li>
        ))}
      </ul>
      <Problem text={cases.problem} />
      {cases.hasMore && (
        <Button look="plain" onClick={cases.more}>
          {texts.details.showMore}
        </Button>
      )}
    </>
  );
}

function titleOf({ title, last_message: last }: Conversation): string {
  if (title !== null) return title;
  return last === null ? texts.details.caseWithoutMessages : excerptOf(last);
}
