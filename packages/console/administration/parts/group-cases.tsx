import type { GroupCases as Counts } from '@parley/protocol/resources/group-cases.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../../session/session-context.tsx';
import { texts } from '../../texts/texts.ts';
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
      <h2>{texts.administration.openCases}</h2>
      <p>{texts.administration.reaching(open)}</p>
      {without > 0 && (
        <>
          <p>{texts.administration.notReaching(without)}</p>
          <ActionButton
            action={{
              label: texts.administration.join,
              operation: 'join_group_cases',
              warning: texts.administration.joinWarning(without),
            }}
            ids={[id]}
            onDone={reload}
          />
        </>
      )}
    </section>
  );
}
