import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { AlarmClock, Archive, CheckCheck, CircleCheck, Ellipsis, UserPlus, UserRoundCheck, X } from 'lucide';
import { useState } from 'preact/hooks';
import { nameOf } from '../names/conversation-name.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { AssignDialog } from './assign-dialog.tsx';
import { actOnAll, type BulkAction, bulkActions } from './bulk-actions.ts';
import { LANES } from './inbox-view.ts';
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
  const act = async (action: BulkAction, done: (count: number) => string) => {
    const fitting = selected.filter(action.appliesTo);
    setBusy(true);
    const failed = await actOnAll(fitting, action);
    setBusy(false);
    const changed = fitting.length - failed.length;
    if (changed > 0) notify(done(changed));
    for (const { conversation, reason } of failed.slice(0, MOST_TOLD)) {
      notifyFailure(`${nameOf(conversation, myId).name}: ${reason}`);
    }
    if (failed.length > MOST_TOLD) notifyFailure(texts.inbox.notChanged(failed.length - MOST_TOLD));
    onKeep(failed.map(({ conversation }) => conversation.id));
  };
  const button = (action: BulkAction, label: string, icon: typeof X, done: (count: number) => string) => (
    <IconButton
      icon={icon}
      label={label}
      disabled={isBusy || !selected.some(action.appliesTo)}
      onClick={() => void act(action, done)}
    />
  );
  const isAny = (action: BulkAction) => selected.some(action.appliesTo);
  const words = texts.inbox;
  const { done } = words;
  return (
    <div class="bulk-bar" role="toolbar" aria-label={words.selectedActions}>
      <span role="status">{words.selected(selected.length)}</span>
      {selected.length < shown && (
        <Button look="plain" onClick={onAll}>
          {words.selectAll(shown)}
        </Button>
      )}
      {button(actions.read, words.markRead, CheckCheck, done.read)}
      {button(actions.take, words.assignToMe, UserRoundCheck, done.taken)}
      <IconButton
        icon={UserPlus}
        label={words.assign}
        disabled={isBusy || !selected.some(({ audience }) => audience === 'customer')}
        onClick={() => setAssigning(true)}
      />
      <MenuButton
        icon={AlarmClock}
        label={words.snoozeFor}
        items={[
          ...laterTimes(new Date()).map(({ label, at }) => ({
            label,
            act: () => void act(actions.snooze(at), done.snoozed),
          })),
          { label: words.untilNext, act: () => void act(actions.snooze(null), done.snoozed) },
        ]}
      />
      {button(actions.moveTo('resolved'), words.resolve, CircleCheck, done.resolved)}
      {button(actions.archive, words.archive, Archive, done.archived)}
      {isAny(actions.moveTo('resolved')) && (
        <MenuButton
          icon={Ellipsis}
          label={words.moveToLane}
          items={LANES_TO.map((lane) => ({
            label: LANES[lane],
            act: () => void act(actions.moveTo(lane), (count) => done.moved(count, LANES[lane])),
          }))}
        />
      )}
      <IconButton icon={X} label={words.endSelection} onClick={() => onKeep([])} />
      {isAssigning && (
        <AssignDialog
          conversation={null}
          onChoose={(owner) => void act(actions.assignTo(owner), done.assigned)}
          onClose={() => setAssigning(false)}
        />
      )}
    </div>
  );
}

const MOST_TOLD = 2;
const LANES_TO = ['open', 'waiting_internal', 'waiting_external'] as const;
