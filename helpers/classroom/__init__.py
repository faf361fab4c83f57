"""What a teacher runs for a class: python -m helpers.classroom FOLDER"""
