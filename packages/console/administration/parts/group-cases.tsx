import type { GroupCases as Counts } from '@parley/protocol/resources/group-cases.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../../session/session-context.tsx';
import { ActionButton } from '../action-button.tsx';
import { filled, type Operation } from '../api-document.ts';
import type { MoreProps } from '../section.ts';
import { useAdministration } from '../use-administration.ts';

/** The open cases of a group, and a way into those that its members are not in. */
export function GroupCases({ item }: MoreProps) {
  const operation = useAdministration().offered('get_group_cases');
  return operation === undefined ? null : <LoadedCases id={item.id} operation={operation} />;
}

function LoadedCases({ id, operation }: { readonly id: string; readonly operation: Operation }) {
  const { client } = useSignedIn();
  const path = filled(operation.path, [id]);
  const load = (signal: AbortSignal) => client.fetch<Counts>(path, { signal });
  const { value: counts, problem, reload } = useResource(path, load);
  if (counts === null) return <Problem text={problem} />;
  const { open, without_members: without } = counts;
  return (
    <section class="administration-part">
      <h2>Open cases</h2>
      <p>
        {open === 0 ? 'No open case reaches' : `${cases(open)} ${open === 1 ? 'reaches' : 'reach'}`} the
        people of this group. New cases do by themselves.
      </p>
      {without > 0 && (
        <>
          <p>
            {cases(without)} {without === 1 ? 'was' : 'were'} opened before and{' '}
            {without === 1 ? 'does' : 'do'} not.
          </p>
          <ActionButton
            action={{
              label: 'Add the people of the group',
              operation: 'join_group_cases',
              warning: `Everybody in this group can then read ${cases(without)} more.`,
            }}
            ids={[id]}
            onDone={reload}
          />
        </>
      )}
    </section>
  );
}

function cases(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'case' : 'cases'}`;
}
