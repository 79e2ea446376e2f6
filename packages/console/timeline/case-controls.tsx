import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { ChevronDown, CircleDot, UserRound, UserRoundCheck } from 'lucide';
import { LANES } from '../inbox/inbox-view.ts';
import type { RowAction } from '../inbox/row-actions.ts';
import { LANES_BY_HAND, moveCase } from '../inbox/undoable.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

export interface CaseControlsProps {
  readonly conversation: Conversation;
  /** The person's actions on the case by name; none where it may not change it. */
  readonly actionOf: (name: RowAction['name']) => RowAction | undefined;
}

/** Lane and owner of an open case, each with its choice. */
export function CaseControls({ conversation, actionOf }: CaseControlsProps) {
  const { client } = useSignedIn();
  const { workflow_status: lane, assignee, assignee_id: assigneeId } = conversation;
  const [take, assign] = [actionOf('take'), actionOf('assign')];
  const owner = assigneeId ? (assignee?.name ?? '…') : texts.timeline.nobody;
  if (lane === null) return null;
  if (assign === undefined) {
    return (
      <>
        <span class="message-tag">{LANES[lane]}</span>
        <span class="message-tag">{assigneeId ? owner : texts.timeline.unassigned}</span>
      </>
    );
  }
  return (
    <>
      <MenuButton
        icon={CircleDot}
        label={texts.timeline.lane(LANES[lane])}
        class="case-control"
        items={LANES_BY_HAND.map((one) => ({
          label: LANES[one],
          isChosen: one === lane,
          act: () => {
            if (one !== lane) void moveCase(client, conversation, one);
          },
        }))}
      >
        <span class="one-line">{LANES[lane]}</span>
        <Icon of={ChevronDown} size={14} />
      </MenuButton>
      <Button
        look="plain"
        class="case-control"
        icon={UserRound}
        aria-label={texts.timeline.assignedTo(owner)}
        aria-keyshortcuts="A"
        title={texts.timeline.assign}
        onClick={assign.act}
      >
        <span class="one-line">{owner}</span>
      </Button>
      {take && <IconButton icon={UserRoundCheck} label={texts.timeline.assignToMe} onClick={take.act} />}
    </>
  );
}
