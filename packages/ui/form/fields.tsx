import { Combobox } from '../choices/combobox.tsx';
import { uiTexts } from '../texts/ui-texts.ts';
import { type Draft, groupOf } from './draft.ts';
import { FieldFrame, FieldSet } from './field-frame.tsx';
import type { FieldProps, PartProps } from './field-props.ts';
import { FileField } from './file-field.tsx';
import { useForm } from './form-context.ts';
import { labelOf, sentenceOf } from './labels.ts';
import { ItemsField, MapField } from './list-fields.tsx';
import { OptionsField } from './options-field.tsx';
import { joined } from './problems.ts';
import type { FieldShape } from './shape.ts';
import type { Wiring } from './wiring.ts';

/** The fields of an object, one below the other. */
export function GroupFields({ shape, draft, path, onDraft }: PartProps) {
  const { problems } = useForm();
  if (shape.kind !== 'group') return null;
  const field = ({ name, required, shape: part, label = labelOf(name) }: FieldShape) => (
    <Field
      key={name}
      name={name}
      label={label}
      isRequired={required}
      shape={part}
      draft={groupOf(draft)[name]}
      path={joined(path, name)}
      onDraft={(value, changed) => onDraft({ ...groupOf(draft), [name]: value }, changed)}
    />
  );
  const folded = shape.fields.filter(({ isForDevelopers }) => isForDevelopers);
  const hasProblem = folded.some(({ name }) =>
    [...problems.keys()].some((at) => at.startsWith(joined(path, name))),
  );
  return (
    <>
      {shape.fields.filter(({ isForDevelopers }) => !isForDevelopers).map(field)}
      {folded.length > 0 && (
        <details class="form-fold" open={hasProblem}>
          <summary>{uiTexts.form.forDevelopers}</summary>
          {folded.map(field)}
        </details>
      )}
    </>
  );
}

/** A field of any shape. */
function Field(props: FieldProps) {
  const { shape, path, label, name, isRequired = false } = props;
  const stand = useForm().special(name, shape.schema);
  if (stand?.kind === 'own' && !(shape.kind === 'items' && stand.isSet !== true)) {
    const { Control, isSet = false } = stand;
    const own = {
      label,
      draft: props.draft,
      onDraft: (value: Draft) => props.onDraft(value, path),
    };
    if (isSet) {
      return (
        <FieldSet path={path} label={label} help={shape.help}>
          <Control {...own} />
        </FieldSet>
      );
    }
    const { isLabelHidden = false } = props;
    return (
      <FieldFrame
        path={path}
        label={label}
        help={shape.help}
        isRequired={isRequired && !shape.nullable}
        isLabelHidden={isLabelHidden}
      >
        {(wiring) => <Control {...own} wiring={wiring} />}
      </FieldFrame>
    );
  }
  switch (shape.kind) {
    case 'group':
      return (
        <FieldSet path={path} label={label} help={shape.help}>
          <GroupFields {...props} />
        </FieldSet>
      );
    case 'many':
      return <OptionsField {...props} options={shape.options} />;
    case 'items':
      return <ItemsField {...props} item={shape.item} Field={Field} />;
    case 'map':
      return <MapField {...props} item={shape.item} Field={Field} />;
    case 'flag':
      return <Flag {...props} />;
    default:
      return <Line {...props} />;
  }
}

function Flag({ label, shape, draft, path, onDraft }: FieldProps) {
  return (
    <FieldFrame path={path} label={label} help={shape.help} isFlag>
      {(wiring) => (
        <input
          {...wiring}
          type="checkbox"
          checked={draft === true}
          onChange={({ currentTarget }) => onDraft(currentTarget.checked, path)}
        />
      )}
    </FieldFrame>
  );
}

function Line(props: FieldProps) {
  const { label, shape, path, isLabelHidden = false } = props;
  // A nullable field may be left empty.
  const isRequired = props.isRequired === true && !shape.nullable;
  return (
    <FieldFrame
      path={path}
      label={label}
      help={shape.help}
      isRequired={isRequired}
      isLabelHidden={isLabelHidden}
    >
      {(wiring) => <Control {...props} wiring={{ ...wiring, 'aria-required': isRequired }} />}
    </FieldFrame>
  );
}

interface ControlProps extends FieldProps {
  readonly wiring: Wiring & { readonly 'aria-required': boolean };
}

function Control({ name, label, shape, draft, path, onDraft, wiring, isRequired = false }: ControlProps) {
  const { special } = useForm();
  const text = typeof draft === 'string' ? draft : '';
  const set = (value: string) => onDraft(value, path);
  const typed = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    set(currentTarget.value);
  const stand = special(name, shape.schema);
  if (stand?.kind === 'file') return <FileField {...stand} wiring={wiring} value={text} onValue={set} />;
  if (stand?.kind === 'choices') {
    const { find, labelOf } = stand;
    return (
      <Combobox
        {...wiring}
        label={label}
        value={text}
        onPick={set}
        placeholder={uiTexts.form.search}
        find={find}
        labelOf={labelOf}
      />
    );
  }
  switch (shape.kind) {
    case 'one':
      return (
        <select {...wiring} value={text} onChange={typed}>
          {(!isRequired || text === '') && <option value="">{isRequired ? uiTexts.form.choose : '—'}</option>}
          {shape.options.map((option) => (
            <option key={option} value={option}>
              {sentenceOf(option)}
            </option>
          ))}
        </select>
      );
    case 'long':
      return <textarea {...wiring} rows={5} value={text} onInput={typed} />;
    case 'json':
      return (
        <textarea {...wiring} class="field-code" rows={4} spellcheck={false} value={text} onInput={typed} />
      );
    case 'secret':
      return <input {...wiring} type="password" autocomplete="new-password" value={text} onInput={typed} />;
    case 'time':
      return <input {...wiring} type="datetime-local" value={text} onInput={typed} />;
    case 'number':
      return <input {...wiring} inputMode="decimal" autocomplete="off" value={text} onInput={typed} />;
    default:
      return shape.schema.format === 'email' ? (
        <input {...wiring} type="email" autocomplete="off" value={text} onInput={typed} />
      ) : (
        <input {...wiring} autocomplete="off" value={text} onInput={typed} />
      );
  }
}
