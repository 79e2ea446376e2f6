import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { AlarmClock, Archive, CheckCheck, CircleCheck, Ellipsis, UserPlus, UserRoundCheck, X } from 'lucide';
import { useState } from 'preact/hooks';
import { nameOf } from '../names/conversation-name.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { AssignDialog } from './assign-dialog.tsx';
import { actOnAll, type BulkAction, bulkActions } from './bulk-actions.ts';
import { laterTimes } from './later.ts';

export interface BulkBarProps {
  readonly selected: readonly Conversation[];
  /** The conversations that are loaded. */
  readonly shown: number;
  readonly onAll: () => void;
  /** Selects these only; none ends the selection. */
  readonly onKeep: (ids: readonly string[]) => void;
}

/** The actions on the selected conversations. */
export function BulkBar({ selected, shown, onAll, onKeep }: BulkBarProps) {
  const { client, me, can } = useSignedIn();
  const [isBusy, setBusy] = useState(false);
  const [isAssigning, setAssigning] = useState(false);
  const myId = me.actor.id;
  const actions = bulkActions({ client, myId, isAdmin: me.role?.type === 'admin', can });
  const act = async (action: BulkAction, done: string) => {
    const fitting = selected.filter(action.appliesTo);
    setBusy(true);
    const failed = await actOnAll(fitting, action);
    setBusy(false);
    const changed = fitting.length - failed.length;
    if (changed > 0) notify(`${changed} ${changed === 1 ? 'conversation' : 'conversations'} ${done}.`);
    for (const { conversation, reason } of failed.slice(0, MOST_TOLD)) {
      notifyFailure(`${nameOf(conversation, myId).name}: ${reason}`);
    }
    if (failed.length > MOST_TOLD) notifyFailure(`${failed.length - MOST_TOLD} more were not changed.`);
    onKeep(failed.map(({ conversation }) => conversation.id));
  };
  const button = (action: BulkAction, label: string, icon: typeof X, done: string) => (
    <IconButton
      icon={icon}
      label={label}
      disabled={isBusy || !selected.some(action.appliesTo)}
      onClick={() => void act(action, done)}
    />
  );
  const isAny = (action: BulkAction) => selected.some(action.appliesTo);
  const lanes = [
    ['open', 'Open'],
    ['waiting_internal', 'Waiting for the team'],
    ['waiting_external', 'Waiting for the customer'],
  ] as const;
  return (
    <div class="bulk-bar" role="toolbar" aria-label="Actions on the selected conversations">
      <span role="status">{selected.length} selected</span>
      {selected.length < shown && (
        <Button look="plain" onClick={onAll}>
          Select all {shown} shown
        </Button>
      )}
      {button(actions.read, 'Mark as read', CheckCheck, 'marked as read')}
      {button(actions.take, 'Assign to me', UserRoundCheck, 'assigned to you')}
      <IconButton
        icon={UserPlus}
        label="Assign…"
        disabled={isBusy || !selected.some(({ audience }) => audience === 'customer')}
        onClick={() => setAssigning(true)}
      />
      <MenuButton
        icon={AlarmClock}
        label="Snooze…"
        items={[
          ...laterTimes(new Date()).map(({ label, at }) => ({
            label,
            act: () => void act(actions.snooze(at), 'snoozed'),
          })),
          { label: 'Until the next message', act: () => void act(actions.snooze(null), 'snoozed') },
        ]}
      />
      {button(actions.moveTo('resolved'), 'Resolve', CircleCheck, 'resolved')}
      {button(actions.archive, 'Archive', Archive, 'archived')}
      {isAny(actions.moveTo('resolved')) && (
        <MenuButton
          icon={Ellipsis}
          label="Move to a lane…"
          items={lanes.map(([lane, label]) => ({
            label,
            act: () => void act(actions.moveTo(lane), `moved to “${label}”`),
          }))}
        />
      )}
      <IconButton icon={X} label="End the selection" onClick={() => onKeep([])} />
      {isAssigning && (
        <AssignDialog
          conversation={null}
          onChoose={(owner) => void act(actions.assignTo(owner), 'assigned')}
          onClose={() => setAssigning(false)}
        />
      )}
    </div>
  );
}

const MOST_TOLD = 2;
