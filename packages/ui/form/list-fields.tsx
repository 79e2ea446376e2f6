import { Plus, X } from 'lucide';
import type { ComponentType } from 'preact';
import { Button, IconButton } from '../elements/button.tsx';
import { uiTexts } from '../texts/ui-texts.ts';
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
            label={uiTexts.form.removeOne(`${label} ${index + 1}`)}
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
            aria-label={uiTexts.form.nameOf(index + 1, label)}
            autocomplete="off"
            placeholder={uiTexts.form.name}
            value={key}
            onInput={({ currentTarget }) => set(index, currentTarget.value, value)}
          />
          <Field
            name={name}
            label={uiTexts.form.valueOf(index + 1, label)}
            isLabelHidden
            shape={{ ...item, help: '' }}
            draft={value}
            path={joined(path, key === '' ? `:value${index}` : key)}
            onDraft={(next, changed) => set(index, key, next, changed)}
          />
          <IconButton
            icon={X}
            label={uiTexts.form.removeOne(key === '' ? uiTexts.form.entry(index + 1) : key)}
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
      aria-label={uiTexts.form.addTo(label)}
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
      {uiTexts.form.add}
    </Button>
  );
}
