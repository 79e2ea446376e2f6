import type { SentMessage } from '@parley/client';
import { EmojiPopover } from '@parley/ui/choices/emoji-picker.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import type { RefObject } from 'preact';
import { texts } from '../texts/texts.ts';
import { ForwardDialog } from './forward-dialog.tsx';
import type { RowMode } from './message-actions.tsx';
import { useMessageContext } from './message-context.tsx';

export interface RowDialogsProps {
  readonly mode: RowMode;
  readonly message: SentMessage;
  readonly row: RefObject<HTMLElement | null>;
  readonly onDone: () => void;
}

/** The dialogs above the page for one message. */
export function RowDialogs({ mode, message, row, onDone }: RowDialogsProps) {
  const { live } = useMessageContext();
  switch (mode) {
    case 'reacting':
      return (
        <EmojiPopover
          anchor={row.current!.querySelector<HTMLElement>('.message-actions') ?? row.current!}
          label={texts.message.react}
          onClose={onDone}
          onPick={(emoji) => {
            live?.react(message.id, emoji).catch(notifyFailure);
            onDone();
          }}
        />
      );
    case 'forwarding':
      return <ForwardDialog message={message} onClose={onDone} />;
    case 'deleting':
      return (
        <Confirm
          title={texts.message.deleteMessage}
          text={texts.message.deleteWarning}
          action={texts.message.delete}
          isDanger
          onConfirm={async () => live?.delete(message.id)}
          onClose={onDone}
        />
      );
    case 'editing':
      return null;
  }
}
