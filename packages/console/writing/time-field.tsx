import { Problem } from '@parley/ui/feedback/problem.tsx';
import { fieldTime, skippedTime } from '@parley/ui/text/field-time.ts';
import { texts } from '../texts/texts.ts';
import { timeZone } from './send-times.ts';

export interface TimeFieldProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** A field for a time, which names the time zone, and takes no time that its clocks skip. */
export function TimeField({ value, onValue }: TimeFieldProps) {
  const problem = skippedTime(value);
  return (
    <>
      <label class="time-field">
        <span>{texts.writing.dateAndTime(timeZone())}</span>
        <input
          ref={(field) => field?.setCustomValidity(problem)}
          type="datetime-local"
          required
          value={value}
          min={fieldTime(new Date())}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      </label>
      <Problem text={problem} />
    </>
  );
}
