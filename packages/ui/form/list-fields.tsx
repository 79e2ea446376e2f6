import { Plus, X } from 'lucide';
import type { ComponentType } from 'preact';
import { Button, IconButton } from '../elements/button.tsx';
import { type Draft, draftOf, entriesOf, itemsOf } from './draft.ts';
import { FieldSet } from './field-frame.tsx';
import type { FieldProps } from './field-props.ts';
import { idOf, useForm } from './form-context.ts';
import { joined } from './problems.ts';
import type { Shape } from './shape.ts';

export type ListFieldProps = FieldProps & {
  readonly item: Shape;
  /** Shows a field of any shape. */
  readonly Field: ComponentType<FieldProps>;
};

/** Any number of items of the same kind. */
export function ItemsField({ Field, item, name, label, shape, draft, path, onDraft }: ListFieldProps) {
  const items = itemsOf(draft);
  const change = (index: number, value: Draft, changed: string) => onDraft(items.with(index, value), changed);
  // The help of the list is enough.
  const bare = { ...item, help: item.kind === 'group' ? item.help : '' };
  return (
    <FieldSet path={path} label={label} help={shape.help}>
      {items.map((value, index) => (
        <div key={index} class="field-row">
          <Field
            name={name}
            label={`${label} ${index + 1}`}
            isLabelHidden
            shape={bare}
            draft={value}
            path={`${path}[${index}]`}
            onDraft={(next, changed) => change(index, next, changed)}
          />
          <IconButton
            icon={X}
            label={`Remove ${label} ${index + 1}`}
            onClick={() => onDraft(items.toSpliced(index, 1), path)}
          />
        </div>
      ))}
      <AddButton label={label} onClick={() => onDraft([...items, draftOf(item, undefined)], path)} />
    </FieldSet>
  );
}

/** Names, each with a value. */
export function MapField({ Field, item, name, label, shape, draft, path, onDraft }: ListFieldProps) {
  const { id } = useForm();
  const entries = entriesOf(draft);
  const set = (index: number, key: string, value: Draft, changed = path) =>
    onDraft(entries.with(index, { key, value }), changed);
  return (
    <FieldSet path={path} label={label} help={shape.help}>
      {entries.map(({ key, value }, index) => (
        <div key={index} class="field-row">
          <input
            id={idOf(id, `${path}:${index}`)}
            aria-label={`Name ${index + 1} of ${label}`}
            autocomplete="off"
            placeholder="Name"
            value={key}
            onInput={({ currentTarget }) => set(index, currentTarget.value, value)}
          />
          <Field
            name={name}
            label={`Value ${index + 1} of ${label}`}
            isLabelHidden
            shape={{ ...item, help: '' }}
            draft={value}
            path={joined(path, key === '' ? `:value${index}` : key)}
            onDraft={(next, changed) => set(index, key, next, changed)}
          />
          <IconButton
            icon={X}
            label={`Remove ${key === '' ? `entry ${index + 1}` : key}`}
            onClick={() => onDraft(entries.toSpliced(index, 1), path)}
          />
        </div>
      ))}
      <AddButton
        label={label}
        onClick={() => onDraft([...entries, { key: '', value: draftOf(item, undefined) }], path)}
      />
    </FieldSet>
  );
}

function AddButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <Button
      icon={Plus}
      class="field-add"
      aria-label={`Add to ${label}`}
      onClick={(event) => {
        onClick();
        const set = event.currentTarget.closest('fieldset');
        // The new row is there with the next frame.
        requestAnimationFrame(() => {
          const rows = set?.querySelectorAll<HTMLElement>(':scope > .field-row');
          rows
            ?.item(rows.length - 1)
            ?.querySelector<HTMLElement>('input, select, textarea')
            ?.focus();
        });
      }}
    >
      Add
    </Button>
  );
}
