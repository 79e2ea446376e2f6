import type { TimelineMessage } from '@parley/client';
import { authorIdOf } from '@parley/client/timeline/author.ts';
import { previewOf } from '@parley/markdown/message-text.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Boundary } from '@parley/ui/feedback/boundary.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { fullTimeOf, timeOf } from '@parley/ui/text/time.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useActor } from '../names/use-actor.ts';
import { INCOMPLETE_WORDS } from '../runs/incomplete-words.ts';
import { texts } from '../texts/texts.ts';
import { MessageEdit } from '../writing/message-edit.tsx';
import { actionsOf, MessageActions, type RowMode } from './message-actions.tsx';
import { MessageAttachments } from './message-attachments.tsx';
import { MessageBody } from './message-body.tsx';
import { useMessageContext } from './message-context.tsx';
import { MessageDelivery } from './message-delivery.tsx';
import { MessageHead } from './message-head.tsx';
import { lookOf } from './message-look.ts';
import { MessageParts } from './message-parts.tsx';
import { MessageQuote } from './message-quote.tsx';
import { MessageReactions } from './message-reactions.tsx';
import { MessageThread } from './message-thread.tsx';
import { ReadBy } from './read-by.tsx';
import { RowDialogs } from './row-dialogs.tsx';

export interface MessageRowProps {
  readonly message: TimelineMessage;
  /** Whether it goes on from the message above it, without name and picture. */
  readonly continues?: boolean;
  /** Whether the pane of a thread shows it, without links to the thread. */
  readonly isInThread?: boolean;
  /** Ids of actors that have read up to this message, with spaces between. */
  readonly readers?: string;
  /** Whether the Tab key leads to it, the only row of all. */
  readonly isInTabOrder?: boolean;
  /** Whether the reader was led to it. */
  readonly isFound?: boolean;
}

/** One message, with the actions on it. */
export const MessageRow = memo((props: MessageRowProps) => {
  const { id, key, body } = props.message;
  const asText = (
    <article class="message message-service" data-message={id ?? key} tabIndex={0}>
      <p>{body}</p>
    </article>
  );
  return (
    <Boundary instead={asText}>
      <Row {...props} />
    </Boundary>
  );
});

function Row(props: MessageRowProps) {
  const { message, continues = false, isInThread = false, readers = '' } = props;
  const context = useMessageContext();
  const { conversationId, live, people, customerIds, pinnedIds } = context;
  const row = useRef<HTMLElement>(null);
  const [isNear, setNear] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [mode, setMode] = useState<RowMode | null>(null);
  useEffect(() => {
    // The message may be gone while a part of it is open.
    if (message.deleted_at !== null) setMode(null);
  }, [message.deleted_at]);
  const look = lookOf(message, customerIds);
  if (look === 'service') return <ServiceRow {...props} />;
  const isSent = message.id !== null;
  const isThere = isSent && message.deleted_at === null;
  const hasActions = isThere && mode !== 'editing' && (isNear || isMenuOpen || mode !== null);
  const actions = () => (isThere ? actionsOf({ message, context, isInThread, onMode: setMode }) : []);
  const done = () => {
    setMode(null);
    row.current?.focus();
  };
  const key = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const name = pressedKey(event);
    const pressed = name.length === 1 ? name.toLowerCase() : name;
    if (pressed === 'm') row.current!.querySelector<HTMLButtonElement>('.message-actions-more')?.click();
    else
      actions()
        .find((action) => action.key === pressed)
        ?.act();
    if (pressed === 'm' || actions().some((action) => action.key === pressed)) event.preventDefault();
  };
  const author = people.get(authorIdOf(message) ?? '') ?? message.sender ?? undefined;
  const name = author?.name ?? message.sender?.name ?? texts.message.unknown;
  const classes = ['message', `message-${look}`, continues ? 'message-continues' : 'message-first'];
  if (props.isFound) classes.push('message-found');
  return (
    <article
      ref={row}
      class={classes.join(' ')}
      data-message={message.id ?? message.key}
      aria-label={labelOf(message, name)}
      tabIndex={(props.isInTabOrder ?? true) ? 0 : -1}
      onMouseMove={() => setNear(true)}
      onMouseLeave={({ currentTarget }) => setNear(currentTarget.contains(document.activeElement))}
      onFocusIn={() => setNear(true)}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        const isInside = relatedTarget instanceof Node && currentTarget.contains(relatedTarget);
        if (!isInside) setNear(currentTarget.matches(':hover'));
      }}
      onKeyDown={key}
    >
      <div class="message-gutter">
        {continues ? (
          <time
            class="message-gutter-time"
            dateTime={message.created_at}
            title={fullTimeOf(message.created_at)}
          >
            {timeOf(message.created_at)}
          </time>
        ) : (
          <Avatar name={name} url={author?.avatar_url} />
        )}
      </div>
      <div class="message-main">
        {!continues && <MessageHead message={message} look={look} name={name} author={author} />}
        {!isInThread && <MessageQuote message={message} />}
        <MessageParts message={message}>
          {mode === 'editing' && isSent ? (
            <MessageEdit
              conversationId={conversationId}
              message={message}
              onEnd={done}
              onSave={(change) => live?.edit(message.id, change)}
            />
          ) : (
            <MessageBody message={message} />
          )}
          <MessageAttachments message={message} />
        </MessageParts>
        <Marks message={message} isPinned={isThere && pinnedIds.has(message.id)} />
        {isThere && <MessageReactions message={message} />}
        {isThere && !isInThread && <MessageThread message={message} />}
        <MessageDelivery message={message} />
      </div>
      <ReadBy readers={readers} />
      {hasActions && (
        <MessageActions
          actions={actions()}
          onMenu={setMenuOpen}
          onReact={(emoji) => void live?.react(message.id, emoji).catch(notifyFailure)}
        />
      )}
      {isThere && mode !== null && <RowDialogs mode={mode} message={message} row={row} onDone={done} />}
    </article>
  );
}

/** A message of the service: a sentence, or an alert. */
function ServiceRow({ message, isInTabOrder = true, isFound = false }: MessageRowProps) {
  const isAlert = message.id !== null && message.kind === 'alert';
  const text = useEventText(message) ?? message.body;
  return (
    <article
      class={`message message-service ${isAlert ? 'message-alert' : ''} ${isFound ? 'message-found' : ''}`}
      data-message={message.id ?? message.key}
      tabIndex={isInTabOrder ? 0 : -1}
    >
      <p>
        {text}{' '}
        <time class="message-time" title={fullTimeOf(message.created_at)}>
          {timeOf(message.created_at)}
        </time>
      </p>
    </article>
  );
}

/** Returns what the event of a message says to the team; undefined without an event or its actor. */
function useEventText(message: TimelineMessage): string | undefined {
  const event = message.id === null ? null : (message.event ?? null);
  const name = useActor(event?.by ?? null)?.name;
  return event === null || !name ? undefined : texts.message.events[event.type](name);
}

function Marks({ message, isPinned }: { readonly message: TimelineMessage; readonly isPinned: boolean }) {
  const approvedBy = message.id === null ? null : (message.approved_by ?? null);
  const approver = useActor(approvedBy);
  const isEdited = message.edited_at !== null && message.deleted_at === null;
  const imported = message.id === null ? null : (message.imported ?? null);
  const incomplete = message.id === null ? null : (message.incomplete ?? null);
  if (!isEdited && !isPinned && imported === null && incomplete === null && approvedBy === null) return null;
  return (
    <p class="message-marks">
      {incomplete !== null && <span title={INCOMPLETE_WORDS[incomplete]}>{texts.message.cutOff}</span>}
      {isPinned && <span>{texts.message.pinned}</span>}
      {approvedBy !== null && (
        <span>{texts.message.approvedBy(approver?.name ?? texts.message.colleague)}</span>
      )}
      {isEdited && <span title={fullTimeOf(message.edited_at!)}>{texts.message.edited}</span>}
      {imported !== null && <span title={fullTimeOf(imported.at)}>{texts.message.imported}</span>}
    </p>
  );
}

function labelOf(message: TimelineMessage, name: string): string {
  const text = message.deleted_at === null ? previewOf(message) : texts.message.isDeleted;
  return `${name}, ${timeOf(message.created_at)}: ${text}`;
}
