import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { Popover } from '@parley/ui/overlays/popover.tsx';
import { fieldTime } from '@parley/ui/text/field-time.ts';
import { Clock } from 'lucide';
import { useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { momentOf, sendTimes, whenText } from '../writing/send-times.ts';
import { TimeField } from '../writing/time-field.tsx';

export interface SendLaterProps {
  readonly isDisabled: boolean;
  readonly onChoose: (at: Date) => void;
}

/** A button that offers times at which a message can be sent. */
export function SendLater({ isDisabled, onChoose }: SendLaterProps) {
  const button = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  if (isDisabled) return <IconButton icon={Clock} label={texts.composer.sendLater} disabled />;
  const times = sendTimes(new Date()).map(({ label, at }) => ({
    label,
    detail: whenText(at),
    act: () => onChoose(at),
  }));
  const other = { label: texts.composer.anotherTime, beginsGroup: true, act: () => setOpen(true) };
  return (
    <span ref={button}>
      <MenuButton icon={Clock} label={texts.composer.sendLater} items={[...times, other]} />
      {isOpen && (
        <Popover
          anchor={button.current!}
          label={texts.composer.sendLater}
          placement="top-end"
          class="send-later"
          onClose={() => setOpen(false)}
        >
          <OtherTime
            onChoose={(at) => {
              setOpen(false);
              onChoose(at);
            }}
          />
        </Popover>
      )}
    </span>
  );
}

/** The field for any other time, which begins an hour from now. */
function OtherTime({ onChoose }: Pick<SendLaterProps, 'onChoose'>) {
  const [value, setValue] = useState(() => fieldTime(new Date(Date.now() + 3_600_000)));
  const at = momentOf(value, new Date());
  return (
    <div class="send-later-other">
      <TimeField value={value} onValue={setValue} />
      <Button look="primary" disabled={at === null} onClick={() => at !== null && onChoose(at)}>
        {texts.composer.schedule}
      </Button>
    </div>
  );
}
