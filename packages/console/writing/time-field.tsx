import { fieldTime, timeZone } from './send-times.ts';

export interface TimeFieldProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** A field for a time, which names the time zone. */
export function TimeField({ value, onValue }: TimeFieldProps) {
  return (
    <label class="time-field">
      <span>Date and time ({timeZone()})</span>
      <input
        type="datetime-local"
        required
        value={value}
        min={fieldTime(new Date())}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}
